import { oneLine, quotation } from './fences.ts';
import { prefix } from './storable.ts';

/** What came with a message, as far as a model can be shown it. */
export interface FileShown {
  id: string;
  kind: 'image' | 'document' | 'audio' | 'video';
  name: string | null;
  /** of a document that is text; what was said in a recording is part of the message itself */
  text: string | null;
  /** JPEG, base64; only the latest pictures have it */
  picture: string | null;
}

/** Characters of a document that are part of the message. */
export const SHOWN_FILE_CHARS = 20_000;
/** Pictures that a request carries at most, the latest: each costs as much as a page of text, on every step. */
export const SHOWN_PICTURES = 4;

/** A message with the texts of its documents, and the ids by which its files can be read on and sent. */
export function withDocuments(content: string, files: readonly FileShown[]): string {
  const texts = files.flatMap((file) => (file.kind === 'document' && file.text ? [documentText(file, file.text)] : []));
  // a recording is there as its words
  const listed = files.filter((file) => file.kind !== 'audio').map((file) => `${file.id} (${named(file)})`);
  return [content, ...texts, ...(listed.length > 0 ? [`[attached: ${listed.join(', ')}]`] : [])].join('\n\n');
}

/** The sender of the file chose its name. */
const named = ({ name, kind }: Pick<FileShown, 'name' | 'kind'>): string => oneLine(name ?? '') || WORDS[kind];

const WORDS: Record<FileShown['kind'], string> = { image: 'picture', document: 'document', audio: 'recording', video: 'video' };

function documentText({ id, name }: FileShown, text: string): string {
  const begin = prefix(text, SHOWN_FILE_CHARS);
  const read = `read on with read_attachment {"id":"${id}","offset":${begin.length}}`;
  const shown = begin === text ? text : `${begin}\n[cut at ${begin.length} of ${text.length} characters; ${read}]`;
  return `[the text of ${named({ name, kind: 'document' })}]\n${quotation(shown)}`;
}
