import type { BlockContent, DefinitionContent, List, Nodes, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { fenceDiffs, fenceFor } from '../../shared/diffs.ts';
import { isParseable } from '../../shared/markdown.ts';
import { harmless, type Inline, inline, lines, sourceOf, styled, toLines, url } from './markup-inline.ts';
import { finishLine, type Piece, type Row, structure, text } from './markup-line.ts';
import { table } from './markup-table.ts';

export { plainWords } from './phone-text.ts';

interface Context extends Inline {
  referenced: ReadonlySet<string>;
  depth: number;
  listDepth: number;
}

type Block = RootContent | BlockContent | DefinitionContent;

/** Deeper nesting, which nobody writes, is shown as it was written. */
const DEEPEST = 40;

/**
 * WhatsApp markup that shows what the markdown says. Code is never changed: its fence is one that it cannot close (more
 * than three backticks when the code has three), without indentation or quote marks. Every word survives, with the
 * addresses of links and images. Never throws.
 */
export function toWhatsApp(markdown: string): string {
  const source = fenceDiffs(markdown.toWellFormed());
  if (!isParseable(source)) return harmless(source);
  let rows: Row[];
  try {
    // a single tilde means "about" to people
    const tree = fromMarkdown(source, {
      extensions: [gfm({ singleTilde: false })],
      mdastExtensions: [gfmFromMarkdown()],
    });
    const { definitions, referenced } = references(tree);
    rows = blocks(
      tree.children,
      { markdown: source, definitions, referenced, active: new Set(), depth: 0, listDepth: 0 },
      true,
    );
  } catch (error) {
    // extreme nesting overflows the stack of any tree walker; then the text is sent as it was written
    if (!(error instanceof RangeError)) throw error;
    rows = [{ verbatim: harmless(source) }];
  }
  return rows.map((row) => ('verbatim' in row ? row.verbatim : finishLine(row.pieces))).join('\n');
}

function references(tree: Nodes): { definitions: Map<string, string>; referenced: Set<string> } {
  const definitions = new Map<string, string>();
  const referenced = new Set<string>();
  const rest: Nodes[] = [tree];
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    if (node.type === 'definition' && !definitions.has(node.identifier)) definitions.set(node.identifier, node.url);
    if (node.type === 'linkReference' || node.type === 'imageReference') referenced.add(node.identifier);
    if ('children' in node) rest.push(...node.children);
  }
  return { definitions, referenced };
}

/** The rows of blocks, with an empty row between them where they are loose. */
function blocks(nodes: readonly Block[], context: Context, loose: boolean): Row[] {
  const out: Row[] = [];
  for (const node of nodes) {
    const rows =
      context.depth > DEEPEST ? asWritten(node, context) : block(node, { ...context, depth: context.depth + 1 });
    if (rows.length === 0) continue;
    if (loose && out.length > 0) out.push({ pieces: [] });
    out.push(...rows);
  }
  return out;
}

function block(node: Block, context: Context): Row[] {
  switch (node.type) {
    case 'paragraph':
      return rowsOf(inline(node.children, context));
    case 'heading':
      return rowsOf(styled(node.children, '*', context));
    case 'code': {
      const fence = fenceFor(node.value);
      const about = node.meta ? rowsOf(lines(node.meta)) : [];
      return [...about, { verbatim: `${fence}\n${node.value}\n${fence}` }];
    }
    case 'blockquote':
      return blocks(node.children, context, false)
        .filter((row) => 'verbatim' in row || row.pieces.length > 0)
        .map((row) => (atMargin(row) ? row : { pieces: [structure(QUOTE), ...pieces(row)] }));
    case 'list':
      return list(node, context);
    case 'table':
      return table(node, context);
    case 'thematicBreak':
      return [{ pieces: [structure('—————')] }];
    case 'html':
      return rowsOf(lines(node.value));
    case 'definition':
      // an address that nothing refers to was meant to be read, as in a list of sources
      if (context.referenced.has(node.identifier)) return [];
      return [
        {
          pieces: [
            text(`[${harmless(node.label ?? node.identifier).replace(/\s+/g, ' ')}]`),
            structure(' '),
            url(node.url),
          ],
        },
      ];
    case 'footnoteDefinition':
      return labelled(blocks(node.children, context, false), [
        text(`[${harmless(node.label ?? node.identifier)}]`),
        structure(' '),
      ]);
    default:
      return asWritten(node, context);
  }
}

function list(node: List, context: Context): Row[] {
  const first = node.start ?? 1;
  const bullet = context.listDepth === 0 ? '- ' : '◦ ';
  return node.children.flatMap((item, i) => {
    const box = item.checked === true ? '☑ ' : item.checked === false ? '☐ ' : '';
    const mark = node.ordered ? `${first + i}. ${box}` : box || bullet;
    return labelled(blocks(item.children, { ...context, listDepth: context.listDepth + 1 }, false), [structure(mark)]);
  });
}

/** Rows behind a mark. The rows after the first are indented below it. */
function labelled(rows: readonly Row[], mark: Piece[]): Row[] {
  const [first, ...rest] = rows;
  const head: Row[] =
    first === undefined
      ? [{ pieces: mark }]
      : atMargin(first)
        ? [{ pieces: mark }, first]
        : [{ pieces: [...mark, ...pieces(first)] }];
  return [...head, ...rest.map((row): Row => (atMargin(row) ? row : { pieces: [structure('  '), ...pieces(row)] }))];
}

const QUOTE = '> ';
const pieces = (row: Row): Piece[] => ('verbatim' in row ? [] : row.pieces);
/** Nothing may come before code, a quote works only at the start of a line, and quotes cannot be nested. */
const atMargin = (row: Row): boolean =>
  'verbatim' in row || (row.pieces[0]?.kind === 'structure' && row.pieces[0].value === QUOTE);

const rowsOf = (pieces: readonly Piece[]): Row[] => toLines(pieces).map((line) => ({ pieces: line }));

function asWritten(node: Block, context: Context): Row[] {
  return rowsOf(lines(sourceOf(node, context.markdown)));
}
