import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type SpeechSettings, transcribe, transcribers } from '../../../src/adapters/speech.ts';
import { english } from '../../../src/domain/texts/say.ts';
import { texts } from '../../../src/page/texts.ts';
import { standInFfmpeg } from '../../support/ffmpeg.ts';

const folder = mkdtempSync(join(tmpdir(), 'fetch-speech-'));
const closers: Array<() => void> = [() => rmSync(folder, { recursive: true, force: true })];
afterEach(() => {
  for (const close of closers.splice(1)) close();
});
const { path, called } = standInFfmpeg(folder);
vi.stubEnv('PATH', path);
vi.stubEnv('OPENAI_API_KEY', 'sk-not-for-others');
const recording = { audio: Buffer.from('OggS'), mime: 'audio/ogg', seconds: 3 };
const signal = new AbortController().signal;

/** A program with the command line of whisper.cpp; `script` sees `$out` and `$heard`. */
function program(script: string): Partial<SpeechSettings> {
  const bin = join(folder, `whisper-${Math.random().toString(16).slice(2)}`);
  const model = join(folder, 'model.bin');
  writeFileSync(model, 'model');
  writeFileSync(
    bin,
    `#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = "-of" ] && out="$2"; [ "$1" = "-f" ] && heard="$2"; shift; done\n[ -n "$out" ] || exit 0\n${script}\n`,
  );
  chmodSync(bin, 0o755);
  return { WHISPER_BIN: bin, WHISPER_MODEL: model };
}
async function endpoint(
  status: number,
  body: unknown,
): Promise<{ url: string; requests: Array<{ path: string; key: string | undefined; text: string }> }> {
  const requests: Array<{ path: string; key: string | undefined; text: string }> = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk.toString('latin1');
    requests.push({ path: request.url!, key: request.headers.authorization, text });
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}
const all = (settings: Partial<SpeechSettings>) => transcribers({ TRANSCRIPTION_MODEL: 'whisper-1', ...settings });

describe('listening to a recording', () => {
  it('reads only formats that name no other file, within bounds, and hands no key on', async () => {
    await transcribe(await all(program('printf words > "$out.txt"')), recording, signal);
    const [formats] = /(?<=-format_whitelist )\S+/.exec(readFileSync(called, 'utf8'))!;
    for (const format of ['hls', 'concat', 'dash', 'playlist', 'image2'])
      expect(formats.split(',')).not.toContain(format);
    for (const bound of ['-t 7200', '-fs 268435456', '-protocol_whitelist file'])
      expect(readFileSync(called, 'utf8')).toContain(bound);
    expect(readFileSync(`${called}.env`, 'utf8')).not.toContain('sk-not-for-others');
  });

  it('is done by whisper.cpp where its model is named, and leaves no file behind', async () => {
    const seen = join(folder, 'seen');
    const settings = program(`echo "$heard" > ${seen}; printf ' Hello\\n there. [BLANK_AUDIO]\\n' > "$out.txt"`);
    expect(await transcribe(await all(settings), recording, signal)).toBe('Hello there.');
    expect(existsSync(readFileSync(seen, 'utf8').trim())).toBe(false);
  });

  it('is done by nobody where nothing is configured, and the person reads where on the page that is changed', () => {
    const { sections, all } = texts.settings;
    for (const part of [texts.parts.settings, sections.all, all.groups.speech.title])
      expect(english('file.deaf')).toContain(part);
  });

  it('is done by nobody where nothing is configured, or what is named is missing', async () => {
    expect(await all({})).toEqual([]);
    // a key and an endpoint for the model say nothing of voices
    expect(await all({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })).toEqual([]);
    expect(await all({ WHISPER_MODEL: join(folder, 'nowhere.bin') })).toEqual([]);
    expect(await all({ ...program(''), WHISPER_BIN: join(folder, 'nowhere') })).toEqual([]);
  });

  it('is done by the endpoint in the words of its protocol, with its own key', async () => {
    const { url, requests } = await endpoint(200, { text: ' by the service ' });
    expect(
      await transcribe(
        await all({ TRANSCRIPTION_BASE_URL: url, TRANSCRIPTION_API_KEY: 'k1', OPENAI_API_KEY: 'k2' }),
        recording,
        signal,
      ),
    ).toBe('by the service');
    expect(requests[0]).toMatchObject({ path: '/v1/audio/transcriptions', key: 'Bearer k1' });
    expect(requests[0]!.text).toContain('filename="voice.ogg"');
    expect(requests[0]!.text).toContain('whisper-1');
  });

  it('gives the key of the model to the host of the model only', async () => {
    const { url, requests } = await endpoint(200, { text: 'heard' });
    await transcribe(await all({ TRANSCRIPTION_BASE_URL: url, OPENAI_API_KEY: 'k2' }), recording, signal);
    await transcribe(
      await all({ TRANSCRIPTION_BASE_URL: url, OPENAI_API_KEY: 'k2', OPENAI_BASE_URL: url }),
      recording,
      signal,
    );
    expect(requests.map(({ key }) => key)).toEqual([undefined, 'Bearer k2']);
  });

  it('falls back from a program that fails to the endpoint, and says why when both fail', async () => {
    const works = await endpoint(200, { text: 'second try' });
    const settings = program('echo "bad model file" >&2; exit 3');
    expect(await transcribe(await all({ ...settings, TRANSCRIPTION_BASE_URL: works.url }), recording, signal)).toBe(
      'second try',
    );
    await expect(transcribe(await all(settings), recording, signal)).rejects.toThrow(
      'whisper.cpp could not transcribe: bad model file',
    );
    const broken = await endpoint(404, { error: 'no such route' });
    await expect(transcribe(await all({ TRANSCRIPTION_BASE_URL: broken.url }), recording, signal)).rejects.toThrow(
      'the transcription endpoint answered 404',
    );
  });

  it('ends at once when it is given up', async () => {
    const controller = new AbortController();
    const given = transcribe(await all(program('sleep 30')), recording, controller.signal);
    controller.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
  });
});
