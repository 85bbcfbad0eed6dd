// Vim's keys, fetched only by those who switch them on.
export { vim } from "@replit/codemirror-vim";
