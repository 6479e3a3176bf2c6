import { describe, expect, it } from 'vitest';
import { parseAutonomy, parseTaskOrder } from '../../../src/domain/chat/words/commands.ts';

describe('an order to a coding task', () => {
  it.each([
    ['stop', { order: 'cancel', taskId: null }],
    ['Cancel tsk_ab12', { order: 'cancel', taskId: 'tsk_ab12' }],
    ['stop task tsk_ab12!', { order: 'cancel', taskId: 'tsk_ab12' }],
    ['PAUSE', { order: 'pause', taskId: null }],
    ['resume tsk_ab12', { order: 'resume', taskId: 'tsk_ab12' }],
    ['Pause 2', { order: 'pause', taskId: '2' }],
    ['stop task 14.', { order: 'cancel', taskId: '14' }],
    ['now codex 3', { order: 'resume', taskId: '3', now: { agent: 'codex' } }],
    ['/continue', { order: 'resume', taskId: null }],
    ['now', { order: 'resume', taskId: null, now: { agent: null } }],
    ['Now codex.', { order: 'resume', taskId: null, now: { agent: 'codex' } }],
    ['now with opencode tsk_ab12', { order: 'resume', taskId: 'tsk_ab12', now: { agent: 'opencode' } }],
  ])('is the whole message: %s', (text, order) => {
    expect(parseTaskOrder(text)).toEqual(order);
  });

  it.each([
    'stop the music',
    'please pause here and think',
    'resume writing the parser',
    'tsk_ab12',
    '',
    'continue',
    'yes',
    'now what',
    'stop 2 of them',
    'pause at 3',
    'now you',
    'right now',
  ])('is not found in: "%s"', (text) => {
    expect(parseTaskOrder(text)).toBeNull();
  });
});

describe('a word of trust', () => {
  it.each([
    ['supervised', 'supervised'],
    ['Auto.', 'autonomous'],
    ['be cautious', 'cautious'],
    ['/autonomous', 'autonomous'],
  ])('is the whole message: %s', (text, autonomy) => {
    expect(parseAutonomy(text)).toBe(autonomy);
  });

  it.each(['an autonomous agent', 'automatic', 'be careful', ''])('is not found in: "%s"', (text) => {
    expect(parseAutonomy(text)).toBeNull();
  });
});
