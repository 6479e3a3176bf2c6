import type { Emphasis, PhrasingContent, Strong } from 'mdast';
import { fenceFor } from '../../shared/diffs.ts';
import { emphasise, type Piece, structure, text } from './markup-line.ts';

/** The context of inline content. */
export interface Inline {
  markdown: string;
  /** Addresses of `[text][label]`, by normalised label. */
  definitions: ReadonlyMap<string, string>;
  /** The emphasis that is already open, because WhatsApp has no bold in bold. */
  active: ReadonlySet<string>;
}

const embedding = /[\u202a-\u202e\u2066-\u2069]/g;

/** Without control characters and direction overrides, which make a text look like another. */
export function harmless(value: string): string {
  return value
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[\v\f\u0085\u2028\u2029]/g, ' ')
    .replace(/[\u0000-\u0008\u000e-\u001f\u007f-\u009f\ufeff]/g, '')
    .replace(embedding, '');
}

/** Inline code, byte for byte. Its direction characters are kept, and closed behind it. */
function code(value: string): Piece[] {
  const fence = value.includes('`') ? fenceFor(value) : '`';
  const padded = fence !== '`' && (/^`|`$/.test(value) || /^ .* $/s.test(value)) ? ` ${value} ` : value;
  const open: string[] = [];
  for (const [char] of value.matchAll(embedding)) {
    if (char === '\u202c' || char === '\u2069') open.pop();
    else open.unshift(char >= '\u2066' ? '\u2069' : '\u202c');
  }
  return [{ kind: 'code', value: fence + padded + fence }, ...(open.length > 0 ? [structure(open.join(''))] : [])];
}

/** An address. What a phone does not recognise as one is ordinary text. */
export function url(value: string): Piece {
  const written = harmless(value).replace(/\s/g, '%20');
  return { kind: /^(?:https?:\/\/|www\.)/i.test(written) ? 'url' : 'text', value: written };
}

/** Text and its address; only the text when it is the address. */
function link(shown: Piece[], address: string, title: string | null | undefined): Piece[] {
  const said = shown.map(({ value }) => value).join('');
  const bare = address.replace(/^(?:mailto:|https?:\/\/)/, '').replace(/\/$/, '');
  if (said.trim() === '' || address === '') return said.trim() === '' ? [url(address)] : shown;
  if ([address, bare, `${bare}/`].includes(said)) return [url(said)];
  return [
    ...shown,
    structure(' ('),
    url(address),
    ...(title ? [structure(' – '), text(harmless(title).replace(/\n/g, ' '))] : []),
    structure(')'),
  ];
}

/** The pieces of inline content, line ends as breaks. */
export function inline(nodes: readonly PhrasingContent[], context: Inline): Piece[] {
  return nodes.flatMap((node): Piece[] => {
    switch (node.type) {
      case 'text':
        return lines(node.value);
      case 'inlineCode':
        return code(node.value);
      case 'strong':
        return isDunder(node, context.markdown)
          ? lines(sourceOf(node, context.markdown))
          : asteriskOr('*', node, context);
      case 'emphasis':
        return asteriskOr('_', node, context);
      case 'delete':
        return styled(node.children, '~', context);
      case 'link':
        return link(inline(node.children, context), node.url, node.title);
      case 'linkReference':
        return link(inline(node.children, context), context.definitions.get(node.identifier) ?? '', null);
      case 'image':
        return link(lines(node.alt ?? ''), node.url, node.title);
      case 'imageReference':
        return link(lines(node.alt ?? ''), context.definitions.get(node.identifier) ?? '', null);
      case 'footnoteReference':
        return [text(`[${harmless(node.label ?? node.identifier)}]`)];
      case 'break':
        return [{ kind: 'break', value: '' }];
      case 'html':
        return /^<br\s*\/?>$/i.test(node.value) ? [{ kind: 'break', value: '' }] : lines(node.value);
      default:
        return [];
    }
  });
}

export function sourceOf(node: { position?: Strong['position'] }, markdown: string): string {
  return markdown.slice(node.position?.start.offset ?? 0, node.position?.end.offset ?? 0);
}

/** Emphasis. But markdown also reads `2*3*4` and `x**2 + y**2` as emphasis, where the asterisks matter. */
function asteriskOr(mark: '*' | '_', node: Emphasis | Strong, context: Inline): Piece[] {
  const start = node.position?.start.offset ?? 0;
  if (!/[\p{Lu}\p{Ll}\p{N}]$/u.test(context.markdown.slice(Math.max(0, start - 2), start)))
    return styled(node.children, mark, context);
  const delimiter = text(sourceOf(node, context.markdown).slice(0, node.type === 'strong' ? 2 : 1));
  return [delimiter, ...inline(node.children, context), delimiter];
}

/**
 * A Python name such as `__init__.py` or `self.__dict__` without backticks: markdown reads it as bold, people mean the
 * name.
 */
function isDunder(node: Strong, markdown: string): boolean {
  if (!node.position || !/^__[a-z][a-z0-9_]*__$/.test(sourceOf(node, markdown))) return false;
  const before = markdown.slice(Math.max(0, (node.position.start.offset ?? 0) - 1), node.position.start.offset);
  return /[./\\]/.test(before) || /^(?:\.[a-z]|\(|\/)/.test(markdown.slice(node.position.end.offset).slice(0, 2));
}

export function styled(nodes: readonly PhrasingContent[], mark: '*' | '_' | '~', context: Inline): Piece[] {
  if (context.active.has(mark)) return inline(nodes, context);
  return emphasise(inline(nodes, { ...context, active: new Set([...context.active, mark]) }), mark);
}

export function lines(value: string): Piece[] {
  return harmless(value)
    .split('\n')
    .flatMap((line, i): Piece[] => (i === 0 ? [text(line)] : [{ kind: 'break', value: '' }, text(line)]))
    .filter((piece) => piece.kind === 'break' || piece.value !== '');
}

/** Pieces, cut at their breaks. */
export function toLines(pieces: readonly Piece[]): Piece[][] {
  const out: Piece[][] = [[]];
  for (const piece of pieces) {
    if (piece.kind === 'break') out.push([]);
    else out.at(-1)!.push(piece);
  }
  return out;
}
