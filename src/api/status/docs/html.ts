import type { Nodes, Parents, Root, Table } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

/** The diagrams of our pages as lists of arrows: no program that draws them is brought along. */

interface Arrow {
  from: string;
  to: string;
  /** what is written at it; empty for none */
  label: string;
}

/**
 * The arrows of a Mermaid flowchart as our pages have them: one in each line, and a node is named where it first
 * stands. Null for every other text.
 */
export function arrowsOf(text: string): Arrow[] | null {
  const [first = '', ...lines] = text.split('\n');
  if (!first.startsWith('flowchart ')) return null;
  const names = new Map<string, string>();
  const nameOf = (written: string): string => {
    const [id = ''] = /^\w*/.exec(written) ?? [];
    const name = written.slice(id.length).replace(/[[\](){}]/g, '');
    if (name !== '') names.set(id, name);
    return names.get(id) ?? id;
  };
  const arrows: Arrow[] = [];
  for (const line of lines) {
    const [left, right] = line.split('-->');
    if (left === undefined || right === undefined) continue;
    const [from = '', label = ''] = left.split(' -- ');
    arrows.push({ from: nameOf(from.trim()), to: nameOf(right.trim()), label: label.trim() });
  }
  return arrows;
}

/** Pages of our own documentation as HTML. They use no raw HTML and no definitions of links. */

export const parsePage = (markdown: string): Root =>
  fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });

export const pageHtml = (markdown: string): string => htmlOf(parsePage(markdown));

export const textOf = (node: Nodes): string =>
  'value' in node ? node.value : 'children' in node ? node.children.map(textOf).join('') : '';

/** The id that GitHub gives a heading, because links name it. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

export const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.codePointAt(0)};`);

const inside = (node: Parents): string => node.children.map(htmlOf).join('');
const element = (name: string, node: Parents): string => `<${name}>${inside(node)}</${name}>`;

const PLAIN = { paragraph: 'p', blockquote: 'blockquote', emphasis: 'em', strong: 'strong', delete: 'del' } as const;

function htmlOf(node: Nodes): string {
  switch (node.type) {
    case 'root':
      return node.children.map(htmlOf).join('\n');
    case 'text':
      return escapeHtml(node.value);
    case 'heading':
      return `<h${node.depth} id="${escapeHtml(anchorOf(textOf(node)))}">${inside(node)}</h${node.depth}>`;
    case 'inlineCode':
      return `<code>${escapeHtml(node.value)}</code>`;
    case 'code':
      return codeHtml(node.value);
    case 'listItem':
      return `<li>${node.children.map((each) => (each.type === 'paragraph' && !node.spread ? inside(each) : htmlOf(each))).join('')}</li>`;
    case 'list':
      return element(node.ordered ? 'ol' : 'ul', node);
    case 'table':
      return tableHtml(node);
    case 'link':
      return linkHtml(node.url, inside(node));
    case 'image':
      return `<img src="${escapeHtml(node.url.replace(/^docs\//, ''))}" alt="${escapeHtml(node.alt ?? '')}">`;
    case 'break':
      return '<br>';
    case 'thematicBreak':
      return '<hr>';
    default:
      return node.type in PLAIN && 'children' in node ? element(PLAIN[node.type as keyof typeof PLAIN], node) : '';
  }
}

function codeHtml(text: string): string {
  const arrows = arrowsOf(text);
  if (!arrows) return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
  const item = ({ from, to, label }: (typeof arrows)[number]) =>
    `<li>${escapeHtml(from)} <b>→</b> ${escapeHtml(to)}${label ? ` <small>${escapeHtml(label)}</small>` : ''}</li>`;
  return `<ul class="arrows">${arrows.map(item).join('')}</ul>`;
}

function tableHtml({ children }: Table): string {
  const rows = children.map((row, line) => {
    const cell = line === 0 ? 'th' : 'td';
    return `<tr>${row.children.map((each) => element(cell, each)).join('')}</tr>`;
  });
  return `<table>${rows.join('')}</table>`;
}

/** Pages link to each other, and to files of the source, which are not served. */
function linkHtml(url: string, text: string): string {
  const page = /^(?:docs\/)?(?:\.\.\/(?=README))?([\w-]+)\.md(?:#(.*))?$/.exec(url);
  if (page) return `<a href="#${page[1]}${page[2] ? `/${escapeHtml(page[2])}` : ''}">${text}</a>`;
  if (url.startsWith('#')) return `<a href="${escapeHtml(url)}" data-here>${text}</a>`;
  return /^https?:\/\//.test(url) ? `<a href="${escapeHtml(url)}" rel="noreferrer">${text}</a>` : text;
}
