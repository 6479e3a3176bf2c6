import { execFile } from 'node:child_process';
import { access, constants, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { serverEnvironment } from '../config.ts';
import { MINUTE } from '../domain/time.ts';

const TIMEOUT_MS = 180_000;
const answer = z.object({ text: z.string() });

const run = promisify(execFile);

/** whisper.cpp on a small computer may take as long as the recording; beyond this it hangs. */
const TIME_PER_SECOND_MS = 4_000;
const LEAST_TIME_MS = 60_000;
const LONGEST_MS = 30 * MINUTE;

/**
 * Accepted formats. A recording is a stranger's file: a playlist (HLS, concat) in place of one would make ffmpeg read
 * other files of this machine. So formats that name files are not read at all.
 */
const FORMATS = 'ogg,matroska,webm,mov,mp4,m4a,mp3,wav,aac,amr,amrnb,amrwb,flac,caf';
/** Longest output of ffmpeg; an Opus file of some KB can claim to be hours of silence. */
const LONGEST_SECONDS = 2 * 3600;
const LARGEST_BYTES = 256 * 1024 * 1024;

interface Recording {
  audio: Buffer;
  mime: string;
  /** as the sender says; 0 when unknown */
  seconds: number;
}

export interface Transcriber {
  readonly name: 'whisper.cpp' | 'endpoint';
  /** the words of a recording, '' for silence. @throws SpeechError */
  transcribe(recording: Recording, signal: AbortSignal): Promise<string>;
}

/** A recording could not be transcribed. `message` is for the operator; `retry` says whether waiting can help. */
export class SpeechError extends Error {
  readonly retry: boolean;
  constructor(message: string, retry = false, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SpeechError';
    this.retry = retry;
  }
}

export interface SpeechSettings {
  WHISPER_BIN?: string;
  WHISPER_MODEL?: string;
  TRANSCRIPTION_BASE_URL?: string;
  TRANSCRIPTION_API_KEY?: string;
  TRANSCRIPTION_MODEL: string;
  OPENAI_BASE_URL?: string;
  OPENAI_API_KEY?: string;
}

/** whisper.cpp, when its model is set and its binary exists; else null. */
async function whisperTranscriber(settings: SpeechSettings): Promise<Transcriber | null> {
  const { WHISPER_MODEL: model, WHISPER_BIN: bin = 'whisper-cli' } = settings;
  if (!model || !(await readable(model)) || !(await runs(bin, ['--help']))) return null;
  return {
    name: 'whisper.cpp',
    async transcribe({ audio, seconds }, signal) {
      const folder = await mkdtemp(join(tmpdir(), 'fetch-voice-'));
      const timeout = Math.min(Math.max(LEAST_TIME_MS, seconds * TIME_PER_SECOND_MS), LONGEST_MS);
      const limits = { signal, timeout, maxBuffer: 8 * 1024 * 1024 };
      try {
        const heard = join(folder, 'heard');
        const wave = join(folder, 'heard.wav');
        await writeFile(heard, audio, { mode: 0o600 });
        const converted = await convert(heard, wave, limits);
        const out = join(folder, 'words');
        await run(
          bin,
          [
            '-m',
            model,
            '-f',
            converted ? wave : heard,
            '-l',
            'auto',
            '-nt',
            '-np',
            '-otxt',
            '-of',
            out,
            '-t',
            threads(),
          ],
          {
            ...limits,
            env: serverEnvironment({}),
          },
        );
        // written without time stamps, one line for each segment
        return (await readFile(`${out}.txt`, 'utf8'))
          .replace(/(?<!\s)\s*\n\s*/g, ' ')
          .replace(/\[(?:BLANK_AUDIO|MUSIC|SILENCE)\]|\((?:silence|music)\)/gi, '');
      } catch (error) {
        signal.throwIfAborted();
        throw new SpeechError(`whisper.cpp could not transcribe: ${firstLine(error)}`, false, { cause: error });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/**
 * Voice notes are Opus, which only some builds of whisper.cpp read. ffmpeg converts them to what all read. False when
 * there is no ffmpeg.
 */
async function convert(from: string, to: string, limits: { signal: AbortSignal; timeout: number }): Promise<boolean> {
  try {
    const reading = ['-protocol_whitelist', 'file', '-format_whitelist', FORMATS, '-i', from];
    const writing = [
      '-vn',
      '-ac',
      '1',
      '-ar',
      '16000',
      '-t',
      String(LONGEST_SECONDS),
      '-fs',
      String(LARGEST_BYTES),
      '-f',
      'wav',
      to,
    ];
    await run('ffmpeg', ['-nostdin', '-v', 'error', ...reading, ...writing], { ...limits, env: serverEnvironment({}) });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

const threads = (): string => String(Math.max(1, Math.min(8, availableParallelism() - 1)));

const readable = (file: string): Promise<boolean> =>
  access(file, constants.R_OK).then(
    () => true,
    () => false,
  );

/** True unless the binary is missing: some builds answer `--help` with an error code. */
const runs = (bin: string, args: string[]): Promise<boolean> =>
  run(bin, args, { timeout: 10_000 }).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'EACCES',
  );

function firstLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  const lines = (stderr || message || '').split('\n').filter((line) => line.trim());
  return (lines.at(-1) ?? 'no reason given').slice(0, 200);
}

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
