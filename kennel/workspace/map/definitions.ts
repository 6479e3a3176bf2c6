import type { SyntaxNode } from '@vscode/tree-sitter-wasm';
import type { Language } from './languages.ts';
import { openParser } from './parser.ts';

/** Namespaces and exports around a definition. */
const MOST_DEPTH = 6;

/** The names that files define at their top. */
export async function openDefinitions(): Promise<(file: string, language: Language) => Promise<string[]>> {
  const read = await openParser();
  return async (file, language) => {
    const found: Definition[] = [];
    await read(file, language, (root) => collect(root, language, { found, exported: false, depth: 0 }));
    // what others can use says more than what a file keeps to itself
    const told = found.some(({ exported }) => exported) ? found.filter(({ exported }) => exported) : found;
    return [...new Set(told.map((each) => each.name))];
  };
}

interface Definition {
  name: string;
  exported: boolean;
}

function collect(
  node: SyntaxNode,
  language: Language,
  at: { found: Definition[]; exported: boolean; depth: number },
): void {
  for (const child of node.namedChildren) {
    if (child === null) continue;
    if (language.defines.has(child.type)) {
      const name = nameOf(child);
      if (name !== null) at.found.push({ name, exported: at.exported || isExported(child, name, language) });
    } else if (at.depth < MOST_DEPTH && language.around.has(child.type))
      collect(child, language, {
        ...at,
        exported: at.exported || child.type === 'export_statement',
        depth: at.depth + 1,
      });
  }
}

/** A name that is one word of letters that programs are written in. */
const WORD = /^[A-Za-z_$][\w$]{0,59}$/;

function nameOf(node: SyntaxNode): string | null {
  // in C, the name is inside of what is declared: `int *name(…)`
  let at = node.childForFieldName('name') ?? node.childForFieldName('declarator');
  for (let inner = at; inner !== null; inner = inner.childForFieldName('declarator') ?? inner.childForFieldName('name'))
    at = inner;
  const word = at?.text.split(/::|\./).at(-1);
  return word !== undefined && WORD.test(word) ? word : null;
}

function isExported(node: SyntaxNode, name: string, { grammar }: Language): boolean {
  if (grammar === 'go') return /^[A-Z]/.test(name);
  if (grammar === 'python') return !name.startsWith('_');
  if (grammar === 'rust') return node.namedChildren.some((child) => child?.type === 'visibility_modifier');
  return false;
}
