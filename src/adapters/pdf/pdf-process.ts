import { extractText, getDocumentProxy } from 'unpdf';

/** Entry of the process that reads one PDF: gets the bytes as a message, answers with the text, and ends. */
process.once('message', async (data: Uint8Array) => {
  const pdf = await getDocumentProxy(data);
  const { text } = await extractText(pdf, { mergePages: false });
  process.send!(text.join('\n\n'), () => process.exit());
});
