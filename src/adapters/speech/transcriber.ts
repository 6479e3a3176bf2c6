export interface Recording {
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
