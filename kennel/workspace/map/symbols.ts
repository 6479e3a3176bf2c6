import { join } from 'node:path';
import type { SyntaxNode } from '@vscode/tree-sitter-wasm';
import type { WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { shown } from '../files/names.ts';
import { answerOf, findHits, type Hit, type Searching } from '../files/search.ts';
import { Refusal } from '../refusal.ts';
import { languageOf } from './languages.ts';
import { openParser } from './parser.ts';

/** A name as programs write it. */
const NAME = /^[\p{L}_$][\p{L}\p{N}_$]{0,199}[!?]?$/u;
/** How long files are parsed. Those after it count as they were found. */
const PARSING_MS = 12_000;

/** Where a name is defined and used in code. Comments, texts and files without a grammar are left out, and counted. */
export async function findSymbol(root: string, op: Searching): Promise<WorkspaceAnswer> {
  if (!NAME.test(op.pattern)) throw new Refusal('A name in code is one word, such as startServer.');
  const { hits, ran } = findHits(root, op);
  const byFile = Map.groupBy(hits, ({ path }) => path);
  const read = await openParser();
  const end = performance.now() + PARSING_MS;
  const defined: Hit[] = [];
  const used: Hit[] = [];
  let other = 0;
  for (const [path, lines] of byFile) {
    const language = languageOf(path);
    const kinds =
      language && performance.now() < end
        ? await read(join(root, path), language, (top, text) => kindsOf(top, text, lines, op.pattern))
        : null;
    for (const [at, hit] of lines.entries()) {
      const kind = language === null ? 'other' : kinds === null ? 'use' : kinds[at];
      if (kind === 'definition') defined.push(hit);
      else if (kind === 'use') used.push(hit);
      else other += 1;
    }
  }
  const found = [...defined, ...used];
  const { output, data } = answerOf(found, ran, {
    limit: op.limit,
    none: `No code has the name ${shown(op.pattern)}.`,
  });
  const head = found.length === 0 ? [] : [summaryOf(op.pattern, defined.length, used.length)];
  const rest =
    other > 0
      ? [
          `${other} ${other === 1 ? 'line' : 'lines'} of comments and other text with this word ${other === 1 ? 'is' : 'are'} left out.`,
        ]
      : [];
  return {
    ok: true,
    output: [...head, output, ...rest].join('\n'),
    data: { ...data, definitions: defined.length, uses: used.length },
  };
}

const summaryOf = (name: string, definitions: number, uses: number): string => {
  const count = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;
  return `${shown(name)}: ${definitions === 0 ? 'no definition' : `${count(definitions, 'definition')} first`}, then ${count(uses, 'use')}.`;
};

type Kind = 'definition' | 'use' | 'other';

/** What the name is in each of these lines. */
function kindsOf(root: SyntaxNode, text: string, lines: readonly Hit[], name: string): Kind[] {
  const source = text.split('\n');
  return lines.map(({ line }) => {
    let kind: Kind = 'other';
    for (const column of columnsOf(source[line - 1] ?? '', name)) {
      const row = line - 1;
      const node = root.namedDescendantForPosition({ row, column }, { row, column: column + name.length });
      if (node?.text !== name || NO_CODE.test(node.type)) continue;
      if (isDefinition(node)) return 'definition';
      kind = 'use';
    }
    return kind;
  });
}

function* columnsOf(line: string, name: string): Generator<number> {
  for (let at = line.indexOf(name); at >= 0; at = line.indexOf(name, at + name.length)) yield at;
}

const NO_CODE = /comment|string|text|content|fragment/;
/** Nodes that define what their name says. */
const DEFINES =
  /(?:definition|declaration|declarator|signature|_item|_spec|_elem|_constant|enum_variant|enum_assignment|enumerator|preproc_def|preproc_function_def|const_element|property_element|^class|^module|^method|^singleton_method)$/;
/** Nodes that only stand around the name: `*name`, `Window::name`, `$name`. */
const AROUND = /_declarator$|^qualified_identifier$|^variable_name$|^expression_list$/;

function isDefinition(name: SyntaxNode): boolean {
  let node = name;
  for (let parent = name.parent; parent !== null; parent = parent.parent) {
    const holds = ['name', 'declarator', 'left', 'property', 'pattern'].some(
      (field) => parent.childForFieldName(field)?.id === node.id,
    );
    const isAround = AROUND.test(parent.type);
    if (holds && parent.type.endsWith('_specifier')) return parent.childForFieldName('body') !== null;
    if (holds && parent.type === 'assignment') return node.type === 'constant' || isAtTop(parent);
    if (
      holds &&
      DEFINES.test(parent.type) &&
      !parent.type.includes('parameter') &&
      !(isAround && parent.type !== 'variable_declarator')
    )
      return true;
    if (!isAround) return false;
    node = parent;
  }
  return false;
}

/** Whether an assignment stands in a module or a class, and not in a function, in Python. */
function isAtTop(assignment: SyntaxNode): boolean {
  const around = assignment.parent?.parent;
  return around?.type === 'module' || (around?.type === 'block' && around.parent?.type === 'class_definition');
}
