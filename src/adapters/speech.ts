import { z } from 'zod';
import { type Recording, SpeechError, type SpeechSettings, type Transcriber } from './speech/transcriber.ts';
import { whisperTranscriber } from './speech/whisper.ts';

/** What a person is told when nothing can transcribe recordings. */
export const HOW_TO_LISTEN = [
  'I cannot listen to voice notes yet; please write it instead. To change that, give me one of these and restart me:',
  '- whisper.cpp on this computer: set WHISPER_MODEL to a model file such as ggml-base.bin, and WHISPER_BIN where whisper-cli is not on the PATH (ffmpeg is needed too)',
  '- a transcription service: set TRANSCRIPTION_BASE_URL and TRANSCRIPTION_API_KEY',
].join('\n');

const TIMEOUT_MS = 180_000;
const answer = z.object({ text: z.string() });

/**
 * An endpoint that speaks OpenAI's `/audio/transcriptions`. Null when the settings name none: a recording goes only
 * where a person said.
 */
function endpointTranscriber(settings: SpeechSettings): Transcriber | null {
  const base = settings.TRANSCRIPTION_BASE_URL;
  if (!base) return null;
  const key = settings.TRANSCRIPTION_API_KEY ?? (isModelsHost(base, settings) ? settings.OPENAI_API_KEY : undefined);
  return {
    name: 'endpoint',
    async transcribe({ audio, mime }, signal) {
      const form = new FormData();
      form.set('model', settings.TRANSCRIPTION_MODEL);
      form.set('response_format', 'json');
      form.set('file', new Blob([new Uint8Array(audio)], { type: mime }), `voice.${extension(mime)}`);
      const response = await fetch(`${base.replace(/(?<!\/)\/+$/, '')}/audio/transcriptions`, {
        method: 'POST',
        body: form,
        redirect: 'error',
        headers: key ? { authorization: `Bearer ${key}` } : {},
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      if (!response.ok) {
        await response.body?.cancel();
        throw new SpeechError(
          `the transcription endpoint answered ${response.status}`,
          response.status === 429 || response.status >= 500,
        );
      }
      const parsed = answer.safeParse(await response.json().catch(() => null));
      if (!parsed.success)
        throw new SpeechError('the transcription endpoint answered with something that is no transcription');
      return parsed.data.text;
    },
  };
}

/** A key is sent only to the host that it belongs to. */
const isModelsHost = (url: string, { OPENAI_BASE_URL }: SpeechSettings): boolean =>
  new URL(url).host === (OPENAI_BASE_URL ? new URL(OPENAI_BASE_URL).host : 'api.openai.com');

/** Endpoints look at the file name, not at the type. */
const extension = (mime: string): string =>
  ({ 'audio/ogg': 'ogg', 'audio/mpeg': 'mp3', 'audio/mp4': 'm4a', 'audio/wav': 'wav', 'audio/webm': 'webm' })[mime] ??
  'ogg';

/** The available transcribers in the order of use, best first. Empty when there are none. */
export async function transcribers(settings: SpeechSettings): Promise<Transcriber[]> {
  const local = await whisperTranscriber(settings);
  const remote = endpointTranscriber(settings);
  return [local, remote].filter((each) => each !== null);
}

/** The words of a recording, from the first transcriber that succeeds. @throws SpeechError of the last one */
export async function transcribe(
  all: readonly Transcriber[],
  recording: Recording,
  signal: AbortSignal,
): Promise<string> {
  let failure = new SpeechError('nothing here can listen');
  for (const each of all) {
    try {
      return (await each.transcribe(recording, signal)).trim();
    } catch (error) {
      signal.throwIfAborted();
      failure =
        error instanceof SpeechError
          ? error
          : new SpeechError(`${each.name}: ${(error as Error).message}`, true, { cause: error });
    }
  }
  throw failure;
}
