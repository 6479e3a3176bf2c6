import { lstatSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import treeSitter, { type SyntaxNode } from '@vscode/tree-sitter-wasm';
import type { Language } from './languages.ts';

/** Larger files are not parsed. */
const MOST_BYTES = 256 * 1024;
const FILE_MS = 400;

/** Reads the syntax of a file; null where it is too large, takes too long, or is no file. */
export type Read = <T>(
  file: string,
  language: Language,
  read: (root: SyntaxNode, text: string) => T,
) => Promise<T | null>;

/** One for each operation, because grammars are loaded when they are needed. */
export async function openParser(): Promise<Read> {
  const { Parser, Language } = treeSitter;
  await Parser.init();
  const folder = dirname(fileURLToPath(import.meta.resolve('@vscode/tree-sitter-wasm')));
  const grammars = new Map<string, ReturnType<typeof Language.load>>();
  const parser = new Parser();
  return async (file, { grammar: name }, read) => {
    if (!grammars.has(name)) grammars.set(name, Language.load(join(folder, `tree-sitter-${name}.wasm`)));
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (!stats?.isFile() || stats.size > MOST_BYTES) return null;
    parser.setLanguage(await grammars.get(name)!);
    const end = performance.now() + FILE_MS;
    const text = readFileSync(file, 'utf8');
    const tree = parser.parse(text, null, { progressCallback: () => performance.now() > end });
    if (tree === null) {
      parser.reset();
      return null;
    }
    try {
      return read(tree.rootNode, text);
    } finally {
      tree.delete();
    }
  };
}
