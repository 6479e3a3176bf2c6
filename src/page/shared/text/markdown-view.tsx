import type { ComponentChildren } from 'preact';
import { AttachmentLink, AttachmentPicture } from '../elements/attachment.tsx';
import { memo } from '../store.ts';
import type { Inline } from './inline.ts';
import { attachmentIn, type Block, markdownOf, safeAddress } from './markdown.ts';

/** Markdown as elements. Nothing of it is ever HTML: a tag in a text is shown as text. */
export const Markdown = memo(({ text, threadId }: { text: string; threadId?: string }) => (
  <div class="markdown">{blocks(markdownOf(text), threadId)}</div>
));

const blocks = (given: Block[], threadId?: string): ComponentChildren =>
  given.map((block, at) => <BlockView key={at} block={block} threadId={threadId} />);

function BlockView({ block, threadId }: { block: Block; threadId?: string }): ComponentChildren {
  switch (block.type) {
    case 'paragraph':
      return <p>{inline(block.children, threadId)}</p>;
    case 'heading':
      return <Heading depth={block.depth}>{inline(block.children, threadId)}</Heading>;
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
        <pre class="code" tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return <blockquote>{blocks(block.children, threadId)}</blockquote>;
    case 'list':
      return <List {...block} threadId={threadId} />;
    case 'table':
      return <Table {...block} threadId={threadId} />;
    case 'rule':
      return <hr />;
  }
}

/** The page has its own first headings. */
function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  const Name = `h${Math.min(depth + 2, 6)}` as 'h3';
  return <Name class={`heading h${Math.min(depth, 4)}`}>{children}</Name>;
}

function List({ start, items, threadId }: Extract<Block, { type: 'list' }> & { threadId?: string }) {
  const rows = items.map(({ checked, children }, at) => (
    <li key={at} class={checked === null ? undefined : 'task'}>
      {checked !== null && (checked ? '☑ ' : '☐ ')}
      {children.map((block, line) =>
        block.type === 'paragraph' && line === 0 ? (
          inline(block.children, threadId)
        ) : (
          <BlockView key={line} block={block} threadId={threadId} />
        ),
      )}
    </li>
  ));
  return start === null ? <ul>{rows}</ul> : <ol start={start}>{rows}</ol>;
}

const Table = ({ header, rows, threadId }: Extract<Block, { type: 'table' }> & { threadId?: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
  <div class="table-box" tabIndex={0}>
    <table>
      <thead>
        <tr>
          {header.map((cell, at) => (
            <th key={at} scope="col">
              {inline(cell, threadId)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, line) => (
          <tr key={line}>
            {row.map((cell, at) => (
              <td key={at}>{inline(cell, threadId)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const inline = (given: Inline[], threadId?: string): ComponentChildren =>
  given.map((each, at) => <InlineView key={at} of={each} threadId={threadId} />);

function InlineView({ of, threadId }: { of: Inline; threadId?: string }): ComponentChildren {
  if (typeof of === 'string') return of;
  switch (of.type) {
    case 'strong':
      return <strong>{inline(of.children, threadId)}</strong>;
    case 'em':
      return <em>{inline(of.children, threadId)}</em>;
    case 'del':
      return <del>{inline(of.children, threadId)}</del>;
    case 'code':
      return <code>{of.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Anchor href={of.href} text={inline(of.children, threadId)} threadId={threadId} />;
    case 'image': {
      const attached = attachmentIn(of.href);
      // a picture of elsewhere would tell its server that somebody reads this
      return attached && threadId ? (
        <AttachmentPicture threadId={threadId} id={attached} name={of.text} />
      ) : (
        <Anchor href={of.href} text={of.text || of.href} />
      );
    }
  }
}

function Anchor({ href, text, threadId }: { href: string; text: ComponentChildren; threadId?: string }) {
  const attached = attachmentIn(href);
  if (attached && threadId)
    return (
      <AttachmentLink threadId={threadId} id={attached}>
        {text}
      </AttachmentLink>
    );
  const address = safeAddress(href);
  return address ? (
    <a href={address} target="_blank" rel="noopener noreferrer" title={address}>
      {text}
    </a>
  ) : (
    // the address is shown, so that nobody takes the words for a link that works
    <span>
      {text} ({href})
    </span>
  );
}
