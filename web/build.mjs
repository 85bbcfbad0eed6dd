// Bundles what JavaScript adds to the pages into judge/web/dist, each file named by its content, with a list of the names.
import { build } from "esbuild";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = path.join(here, "..", "judge", "web", "dist");
const fresh = `${target}.new`;

// Every browser that runs the script takes woff2; the older formats would triple the size of the wheel.
const onlyWoff2 = {
  name: "only-woff2",
  setup(building) {
    building.onLoad({ filter: /katex\.min\.css$/ }, async ({ path: file }) => ({
      contents: (await readFile(file, "utf8")).replace(/,url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)/g, ""),
      loader: "css",
    }));
  },
};

await rm(fresh, { recursive: true, force: true });
await mkdir(fresh, { recursive: true });
const entries = ["site", "editor", "vim", "math"];
const result = await build({
  absWorkingDir: here,
  entryPoints: entries.map((name) => `src/${name}.js`),
  outdir: fresh,
  bundle: true,
  format: "esm",
  splitting: true,
  minify: true,
  target: "es2022",
  entryNames: "[name]-[hash]",
  chunkNames: "part-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".woff2": "file" },
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  plugins: [onlyWoff2],
});

const named = {};
for (const [file, about] of Object.entries(result.metafile.outputs)) {
  const name = path.basename(file);
  if (about.entryPoint) {
    named[path.basename(about.entryPoint)] = name;
    if (about.cssBundle) named[path.basename(about.entryPoint).replace(/js$/, "css")] = path.basename(about.cssBundle);
  }
}
await writeFile(path.join(fresh, "manifest.json"), JSON.stringify(named, null, 1) + "\n");
await rm(target, { recursive: true, force: true });
await rename(fresh, target);
