import { endpointTranscriber } from './endpoint.ts';
import { type Recording, SpeechError, type SpeechSettings, type Transcriber } from './transcriber.ts';
import { whisperTranscriber } from './whisper.ts';

/** What a person is told when nothing can transcribe recordings. */
export const HOW_TO_LISTEN = [
  'I cannot listen to voice notes yet; please write it instead. To change that, give me one of these and restart me:',
  '- whisper.cpp on this computer: set WHISPER_MODEL to a model file such as ggml-base.bin, and WHISPER_BIN where whisper-cli is not on the PATH (ffmpeg is needed too)',
  '- a transcription service: set TRANSCRIPTION_BASE_URL and TRANSCRIPTION_API_KEY',
].join('\n');

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
