import { parentPort, workerData } from 'node:worker_threads';
import { extractText, getDocumentProxy } from 'unpdf';

/** Posts the text of the PDF in `workerData`. */
const pdf = await getDocumentProxy(workerData as Uint8Array);
const { text } = await extractText(pdf, { mergePages: false });
parentPort!.postMessage(text.join('\n\n'));
