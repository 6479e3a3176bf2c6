import { expect, it } from 'vitest';
import { chooseOption, looksLikeAnswer, parseApproval, parseCommand } from '../../../src/domain/chat/words/commands.ts';
import { offeredAnswer } from '../../../src/domain/chat/words/replies.ts';
import { parseUndo } from '../../../src/domain/chat/words/tool-words.ts';
import { isCommand } from '../../../src/gateway/intake/commands/table.ts';

/** Words of other languages that are understood as a whole message. */

it.each([
  ['stop', ['Stopp!', 'hör auf', '¡Para!', 'detente', 'pare', 'Arrête', 'annuler', 'रुको', 'बंद करो।']],
  ['status', ['was läuft', 'Estado', 'statut', 'स्थिति']],
  ['help', ['Hilfe', '¡Ayuda!', 'ajuda', 'aide', 'मदद']],
  ['yes', ['Ja', 'ja bitte', 'Sí.', 'si\u0301', 'sí, por favor', 'sim', 'Oui', 'd’accord', 'हाँ', 'जी हां।']],
  ['no', ['Nein', 'nein, danke', 'no gracias', 'Não', 'nao', 'non merci', 'नहीं।']],
])('%s', (command, said) => {
  for (const text of said) expect([text, parseCommand(text)]).toEqual([text, command]);
});

it('undo', () => {
  for (const text of ['Rückgängig', 'deshacer', 'desfaz', 'défaire', 'वापस लो'])
    expect([text, parseUndo(text)]).toEqual([text, { what: 'one' }]);
});

it('always, and skip', () => {
  for (const text of ['immer', 'Siempre', 'sempre', 'toujours', 'हमेशा'])
    expect([text, parseApproval(text)?.always]).toEqual([text, 'asked']);
  for (const text of ['überspringen', 'omitir', 'pular', 'passer', 'छोड़ दो'])
    expect([text, parseApproval(text)?.skip]).toEqual([text, true]);
});

it('sentences that contain them are for the model', () => {
  for (const text of [
    ...['para cada archivo, cuenta las líneas', 'stopp den Server in demo', 'annuler la commande 12', 'pare de rir'],
    ...['ja, aber nicht die Tests', 'sí, pero sin las pruebas', 'sim, mas depois', 'oui, mais sans les tests'],
    ...['hilfe mir mit dem login', 'estado del pedido', 'immer wenn es regnet', 'कल मदद करना', 'हाँ, लेकिन टेस्ट नहीं'],
  ])
    expect([text, parseCommand(text), parseApproval(text), parseUndo(text), isCommand(text)]).toEqual([
      text,
      null,
      null,
      null,
      false,
    ]);
});

it('a beginning that looks like an answer is noticed', () => {
  for (const text of ['ja, aber nicht heute', 'não agora', 'oui mais demain', 'हाँ लेकिन कल'])
    expect([text, looksLikeAnswer(text)]).toEqual([text, true]);
  for (const text of ['jacket colours', 'simulate it', 'nonsense'])
    expect([text, looksLikeAnswer(text)]).toEqual([text, false]);
});

it('a thumb chooses the yes of a question in another language', () => {
  expect(chooseOption(['Ja, löschen', 'Nein, behalten'], '👍')).toBe('Ja, löschen');
  expect(chooseOption(['Sí, bórralo', 'No, déjalo'], '👎')).toBe('No, déjalo');
  expect(chooseOption(['Blau', 'Grün'], '👍')).toBe('👍');
});

it('in a group the words of the question count, and a no, and no "ok"', () => {
  const open = [{ kind: 'approval' as const, number: 1, options: [] }];
  expect(['Ja', 'sim', 'Nein', 'vale', 'klar'].map((text) => offeredAnswer(text, open))).toEqual([
    'other',
    'other',
    'no',
    null,
    null,
  ]);
});
