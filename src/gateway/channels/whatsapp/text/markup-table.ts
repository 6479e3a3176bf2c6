import type { Table } from 'mdast';
import { fenceFor } from '../../shared/diffs.ts';
import { type Inline, inline, styled, toLines } from './markup-inline.ts';
import { type Piece, type Row, structure } from './markup-line.ts';

/** Monospace characters in a line of the narrowest phones. */
const NARROW = 30;
/** What every monospace font shows one column wide. */
const oneColumn =
  /^(?:(?!\p{Extended_Pictographic})[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2015\u2018-\u2022\u2026\u20a0-\u20bf\u2190-\u22ff])*$/u;

/** A table for a phone: aligned in monospace when it is narrow and plain, else each row as "header: value" lines. */
export function table(node: Table, context: Inline): Row[] {
  const width = Math.max(...node.children.map((row) => row.children.length));
  const cells = node.children.map((row) =>
    Array.from({ length: width }, (_, i) => inline(row.children[i]?.children ?? [], context)),
  );
  return aligned(cells, node.align ?? []) ?? records(node, cells, context);
}

function aligned(cells: readonly Piece[][][], align: NonNullable<Table['align']>): Row[] | null {
  const plain = cells
    .flat(2)
    .every(({ kind, value }) => (kind === 'text' || kind === 'code' || kind === 'mark') && oneColumn.test(value));
  if (!plain || cells.length < 2) return null;
  const words = cells.map((row) => row.map(shown));
  const widths = words[0]!.map((_, i) => Math.max(...words.map((row) => row[i]!.length)));
  if (widths.reduce((sum, width) => sum + width + 2, -2) > NARROW) return null;
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (align[i] === 'right' ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  const [head, ...body] = words;
  const drawn = [line(head!), widths.map((width) => '-'.repeat(width)).join('  '), ...body.map(line)].join('\n');
  const fence = fenceFor(drawn);
  return [{ verbatim: `${fence}\n${drawn}\n${fence}` }];
}

/** Code between its backticks; code with a backtick of its own has more of them around it. */
function withoutFence(code: string): string {
  const fence = /^`*/.exec(code)![0];
  return fence !== '' && code.length >= 2 * fence.length && code.endsWith(fence)
    ? code.slice(fence.length, -fence.length)
    : code;
}

/** A cell without emphasis and without backticks, because all of it is in monospace. */
function shown(cell: readonly Piece[]): string {
  return cell
    .map((piece) => (piece.kind === 'mark' ? '' : piece.kind === 'code' ? withoutFence(piece.value) : piece.value))
    .join('')
    .trim();
}

function records(node: Table, cells: readonly Piece[][][], context: Inline): Row[] {
  const [head, ...body] = cells;
  const titles = (node.children[0]?.children ?? []).map((cell) => styled(cell.children, '*', context));
  if (body.length === 0)
    return [
      {
        pieces: titles
          .flatMap((title, i) => (i === 0 ? title : [structure(' | '), ...title]))
          .filter(({ kind }) => kind !== 'break'),
      },
    ];
  return body.flatMap((row, at): Row[] => [
    ...(at > 0 ? [{ pieces: [] }] : []),
    ...row.flatMap((cell, i): Row[] => {
      const untitled = (head?.[i] ?? []).length === 0;
      if (untitled && cell.length === 0) return [];
      const title = untitled ? [] : [...titles[i]!.filter(({ kind }) => kind !== 'break'), structure(': ')];
      const value = cell.length > 0 ? cell : [structure('–')];
      return toLines([...title, ...value]).map((pieces) => ({ pieces }));
    }),
  ]);
}
