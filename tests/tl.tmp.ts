import { encode as o } from 'gpt-tokenizer/encoding/o200k_base';
import { encode as c } from 'gpt-tokenizer/encoding/cl100k_base';
import { modelTools } from '../src/tools/registry.ts';
const spaced = (v: unknown): string => JSON.stringify(v, null, 1).replace(/\n\s*/g, ' ').replace(/([{[]) /g,'$1').replace(/ ([}\]])/g,'$1');
let a=0,b=0,d=0;
for (const t of modelTools()) { const w={type:'function',function:t}; const j = JSON.stringify(w); a+=o(j).length+1; b+=c(j).length+1; d+=c(spaced(w)).length+1; console.log(o(j).length, c(j).length, c(spaced(w)).length, t.name); }
console.log(a,b,d,spaced({a:[1,{b:2}]}));
