import { expect, it } from 'vitest';
import { systemPrompt } from '../../../src/activities/turn/context/prompt.ts';
import type { Config } from '../../../src/config.ts';
import type { StepSubject } from '../../../src/store/turns/steps/step-subject.ts';

const config = { FETCH_TIME_ZONE: 'UTC' } as Config;
const prompt = (channel: StepSubject['channel'], group = false, preferences: StepSubject['preferences'] = {}) =>
  systemPrompt(config, {
    channel,
    group,
    preferences,
    thread: { model: 'm', system_prompt: 'Talk like a pirate.', auto_approve: false },
  } as StepSubject);

it('the model is told what WhatsApp is, and how to send a file there', () => {
  expect(prompt('whatsapp')).toContain('![what it shows](attachment:att_…)');
  expect(prompt('console')).not.toContain('attachment:');
  expect(prompt('whatsapp')).not.toContain('group');
});

it('the model is told that the messages of a group carry the names of their authors', () => {
  expect(prompt('whatsapp', true)).toMatch(
    /group: each message begins with the name of its author and who that is to you/,
  );
});

it('what the person prefers is in it, with the day of their time zone', () => {
  expect(prompt('console', false, { brevity: 'short', language: 'de', timeZone: 'Asia/Tokyo' })).toMatch(
    /\(Asia\/Tokyo\)[\s\S]*one or two sentences, and in German/,
  );
  expect(prompt('console')).not.toContain('The person wants');
});

it('what the thread says of itself comes last', () => {
  expect(prompt('whatsapp', true)).toMatch(/Talk like a pirate\.$/);
});
