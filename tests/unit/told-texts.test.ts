import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';

/** A text for a person is in the catalogue, or in English alone. */

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Node {
  type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the type of the node
  [key: string]: any;
}

/** Functions whose arguments a person reads. */
const TELLING = new Set(
  `recordNotice tellOfTask tellScreens tellElsewhere tellOwner tellOwnerOnTelegram respond askOfWork insertQuestion
  recordProgress abandon alert`.split(/\s+/),
);
/** They say in English what a model or a log reads, or take words apart. */
const NOT_TOLD = new Set(
  'english fail info warn error debug exit exec match test replace replaceAll split join includes'.split(' '),
);
/** Parts of an argument that nobody is told: what a person said in other ways, who has written it. */
const NOT_SAID = new Set(['said', 'label', 'summary', 'reason', 'sources', 'title', 'words']);
/** A tool's English for the model has a `said` of its own, and a regular expression is no text. */
const SENTENCE = /^(?!\[)[^/<>{}=_]*\b[A-Za-z][a-z’']+,? [a-z]{2,}[^/<>{}=_]* [a-z]{2,}/;

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';

function inner(node: Node): Node[] {
  return Object.entries(node).flatMap(([name, value]) =>
    name === 'parent' ? [] : (Array.isArray(value) ? value : [value]).filter(isNode),
  );
}

const calledName = ({ callee }: Node): string => callee.name ?? callee.property?.name ?? '';

/** Fixed sentences in a part of a source. `named`: what stands behind a name in the same file. */
function sentencesIn(node: Node, named: ReadonlyMap<string, Node>, seen = new Set<Node>()): string[] {
  if (seen.has(node)) return [];
  seen.add(node);
  if (node.type === 'CallExpression' && NOT_TOLD.has(calledName(node))) return [];
  if (node.type.startsWith('TS')) return [];
  if (node.type === 'Property' && NOT_SAID.has(node.key.name)) return [];
  const text = node.type === 'Literal' ? node.value : node.type === 'TemplateElement' ? node.value.cooked : null;
  if (typeof text === 'string' && SENTENCE.test(text.trim())) return [text.trim()];
  const behind = node.type === 'Identifier' ? named.get(node.name) : undefined;
  return [...inner(node), ...(behind ? [behind] : [])].flatMap((each) => sentencesIn(each, named, seen));
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const each of inner(node)) walk(each, visit);
}

/** Has the texts of a person: a parameter `say`. */
const takesSay = (node: Node): boolean =>
  /^(?:ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/.test(node.type) &&
  (node.params as Node[]).some(
    ({ type, name, properties, left }) =>
      name === 'say' ||
      left?.name === 'say' ||
      (type === 'ObjectPattern' && (properties as Node[]).some(({ key }) => key?.name === 'say')),
  );

const MAY_TELL = new RegExp(`\\b(?:say|${[...TELLING].join('|')})\\b`);

function forgottenIn(source: string, file = 'a.ts'): string[] {
  if (!MAY_TELL.test(source)) return [];
  const { program } = parseSync(file, source, { lang: file.endsWith('x') ? 'tsx' : 'ts' });
  const named = new Map<string, Node>();
  const found: string[] = [];
  walk(program as unknown as Node, (node) => {
    if (node.type === 'VariableDeclarator' && node.id.name && node.init) named.set(node.id.name, node.init);
    if (node.type === 'FunctionDeclaration' && node.id) named.set(node.id.name, node.body);
  });
  walk(program as unknown as Node, (node) => {
    if (node.type === 'CallExpression' && TELLING.has(calledName(node)))
      for (const part of node.arguments) found.push(...sentencesIn(part, named));
    if (takesSay(node)) found.push(...sentencesIn(node.body, new Map()));
  });
  return [...new Set(found)];
}

const files = globSync('src/{domain,store,gateway,activities,tools,adapters}/**/*.ts', {
  cwd: root,
  exclude: ['src/domain/texts/??.ts'],
});

describe('a fixed text that a person is told', () => {
  it.each([
    ["await recordNotice(db, { text: 'The backup was not made.' });"],
    ["tellOfTask(db, task, key, 'Its host ' + host + ' is not there any more.');"],
    ["const text = 'The backup was not made.';\nvoid tellScreens(db, key, () => text, true);"],
    ["const why = () => 'nothing is known of it';\nvoid respond({ body: why() });"],
    ["const shown = (count: number, say: Say) => (count > 3 ? 'There are many of them.' : say('x'));"],
    ["function shown({ say }: Context) { return say ? 'There are many of them.' : ''; }"],
  ])('is found where the catalogue does not have it: %s', (source) => {
    expect(forgottenIn(source)).toHaveLength(1);
  });

  it('may be English for a log, a model and an error of ours', () => {
    const source = `function shown(say: Say) {
      log.warn({ a: 1 }, 'the backup was not made');
      if (/one of these/.test(text)) throw fail('Internal', 'There are many of them.');
      return recordNotice(db, { text: english('x', { why: 'There are many of them.' }), said: 'a voice of somebody' });
    }`;
    expect(forgottenIn(source)).toEqual([]);
  });

  it('is of the catalogue, in every language', () => {
    const found = files.flatMap((file) =>
      forgottenIn(readFileSync(`${root}/${file}`, 'utf8'), file).map((text) => `${file}: ${text}`),
    );
    expect(files.length).toBeGreaterThan(500);
    expect(found).toEqual([]);
  });
});
