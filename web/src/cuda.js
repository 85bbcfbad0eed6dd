// What CUDA adds to C++ for the eye and for completion: its words, and the judge's launch and workspace lines.
import { completeFromList } from "@codemirror/autocomplete";
import { cppLanguage } from "@codemirror/lang-cpp";
import { Decoration, MatchDecorator, ViewPlugin } from "@codemirror/view";

const QUALIFIERS = ["__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__restrict__",
  "__launch_bounds__", "__forceinline__", "__noinline__", "__align__", "__grid_constant__"];
const VARIABLES = ["threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"];
const TYPES = ["dim3", "float2", "float3", "float4", "int2", "int3", "int4", "uint4", "half", "half2", "__half",
  "__half2", "__nv_bfloat16", "__nv_bfloat162", "cudaStream_t"];
const FUNCTIONS = ["__syncthreads", "__syncwarp", "__shfl_sync", "__shfl_down_sync", "__shfl_up_sync",
  "__shfl_xor_sync", "__ballot_sync", "__all_sync", "__any_sync", "__activemask", "__reduce_add_sync", "atomicAdd",
  "atomicMax", "atomicMin", "atomicCAS", "atomicExch", "__threadfence", "__threadfence_block", "__ldg", "__expf",
  "__logf", "__fdividef", "__frcp_rn", "__fmaf_rn", "exp2f", "fmaxf", "fminf", "rsqrtf", "cdiv", "__half2float",
  "__float2half", "__bfloat162float", "__float2bfloat16"];

const word = (list) => `\\b(?:${list.join("|")})\\b`;
const marks = [
  [new RegExp(`^${word(QUALIFIERS)}$`), Decoration.mark({ class: "cm-cuda-word" })],
  [new RegExp(`^${word([...VARIABLES, ...TYPES])}$`), Decoration.mark({ class: "cm-cuda-name" })],
  [new RegExp(`^${word(FUNCTIONS)}$`), Decoration.mark({ class: "cm-cuda-call" })],
  [/^@/, Decoration.mark({ class: "cm-cuda-line" })],
];
const every = new RegExp(`${word([...QUALIFIERS, ...VARIABLES, ...TYPES, ...FUNCTIONS])}|@(?:launch|workspace)\\b.*`, "g");
const decorator = new MatchDecorator({
  regexp: every,
  decoration: (match) => (marks.find(([kind]) => kind.test(match[0])) ?? marks[0])[1],
});

const highlighting = ViewPlugin.fromClass(
  class {
    constructor(view) { this.decorations = decorator.createDeco(view); }
    update(update) { this.decorations = decorator.updateDeco(update, this.decorations); }
  },
  { decorations: (plugin) => plugin.decorations },
);

const options = [
  ...QUALIFIERS.map((label) => ({ label, type: "keyword" })),
  ...VARIABLES.map((label) => ({ label, type: "variable" })),
  ...TYPES.map((label) => ({ label, type: "type" })),
  ...FUNCTIONS.map((label) => ({ label, type: "function" })),
];

export const cuda = [highlighting, cppLanguage.data.of({ autocomplete: completeFromList(options) })];
