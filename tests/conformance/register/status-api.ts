import { differs, type Sentence, type Silent, says, shown } from './register.ts';

const status = shown('conformance/status');
const sessions = shown('conformance/sessions');
const reload = shown('conformance/config-reload');
const rest = shown('conformance/contract');

const NEEDS_TOKEN = status('defect 39: %s %s answers 401 without a token and 403 with a wrong one');
const SESSION_NEEDS_TOKEN = sessions('%s %s needs the token, and says of a wrong one that it is wrong');
const STATE_FIELDS = status('GET /api/status needs no token and has every field of the contract');
const METRICS = status('count each message beside answers where it is written, by the rules of the original');
const QR = status('qrCode and qrUrl are there while a QR waits to be scanned, and at no other time');
const SUMMARY = sessions('returns summarized session metadata');
const HISTORY = sessions('returns the full message history for a specific session');
const RELOADS = reload('reloads .env values and names the keys that changed');

export const STATUS_API: Sentence[] = [
  says(
    [11, 17],
    'admin endpoints take a bearer token, and answer 401 or 403 without the right one',
    NEEDS_TOKEN,
    differs('a wrong token'),
  ),
  says(22, 'the API is on port 8765', rest('the status API is on port 8765')),
  says(27, 'GET /api/status needs no token', STATE_FIELDS),
  says(28, 'GET /api/health needs no token', status('GET /api/health needs no token and answers { healthy: true }')),
  says(
    29,
    'POST /api/logout disconnects, with the token',
    NEEDS_TOKEN,
    status('start, restart and logout say what is wanted of WhatsApp'),
  ),
  says(
    30,
    'POST /api/whatsapp/start starts, with the token',
    NEEDS_TOKEN,
    status('start, restart and logout say what is wanted of WhatsApp'),
  ),
  says(
    31,
    'POST /api/whatsapp/restart gives a fresh cycle, with the token',
    NEEDS_TOKEN,
    status('start, restart and logout say what is wanted of WhatsApp'),
  ),
  says(32, 'POST /api/config/reload reloads, with the token', NEEDS_TOKEN, RELOADS),
  says(33, 'GET /api/sessions lists, with the token', NEEDS_TOKEN, SUMMARY),
  says(34, 'GET /api/sessions/:id, with the token', SESSION_NEEDS_TOKEN, HISTORY),
  says(35, 'DELETE /api/sessions/:id, with the token', SESSION_NEEDS_TOKEN, sessions('deletes a session by id')),
  says(
    36,
    'POST /api/sessions/:id/clear, with the token',
    SESSION_NEEDS_TOKEN,
    sessions('clears message history for one session'),
  ),
  says(38, 'grammar of a session id', sessions('refuses an id that is not of ^[A-Za-z0-9_-]+$: %s')),

  says(42, 'GET /api/status tells health and the state of WhatsApp', STATE_FIELDS),
  says([46, 71], 'every field of the status', STATE_FIELDS),
  says(73, 'the five words for the state', status('state is one of the five words of the contract')),
  says(74, 'qrCode while a QR waits', QR, differs('`qrCode`, `qrUrl`')),
  says(75, 'qrUrl while a QR waits', QR, differs('`qrCode`, `qrUrl`')),
  says(76, 'uptime in seconds since the start', status('uptime counts seconds, and goes on')),
  says(77, 'messageCount counts messages', status('messageCount counts the messages of people')),
  says(78, 'lastError is the latest problem, or null', status('state is one of the five words of the contract')),
  says(79, 'version is that of the program', STATE_FIELDS),
  says(80, 'counters of notifications', METRICS, status('hold the three equations'), differs('`notificationMetrics`')),
  says(
    81,
    'counters of formatting',
    status('responseFormattingMetrics count what formatting did, once for each reply'),
  ),

  says(85, 'GET /api/sessions gives summaries', SUMMARY),
  says(89, 'GET /api/sessions takes a bearer token', NEEDS_TOKEN),
  says([93, 105], 'every field of a summary', SUMMARY, differs('a session')),
  says(109, 'GET /api/sessions/:id gives the whole history', HISTORY),
  says(113, 'GET /api/sessions/:id takes a bearer token', SESSION_NEEDS_TOKEN),
  says([117, 134], 'every field of a history', HISTORY),
  says(136, 'id of a session', HISTORY),
  says(137, 'messages of a session', HISTORY, differs('`messages[]`')),
  says(138, 'role of a message', HISTORY),
  says(139, 'content of a message', HISTORY),
  says(140, 'time of a message', HISTORY),
  says(144, 'health for a manager', status('GET /api/health needs no token and answers { healthy: true }')),
  says(146, 'body of health', status('GET /api/health needs no token and answers { healthy: true }')),
  says(150, 'logout disconnects', status('start, restart and logout say what is wanted of WhatsApp')),
  says(154, 'logout takes a bearer token', NEEDS_TOKEN),
  says(156, 'body of logout', status('start, restart and logout say what is wanted of WhatsApp')),
  says(160, 'reload applies the file to what runs', RELOADS, differs('`POST /api/config/reload`')),
  says(164, 'reload takes a bearer token', NEEDS_TOKEN),
  says([168, 172], 'body of reload', RELOADS),
  says(176, 'DELETE of a session', sessions('deletes a session by id'), differs('delete')),
  says(180, 'clear of a session', sessions('clears message history for one session'), differs('clear')),
  says(
    182,
    'ADMIN_TOKEN is made where none is set, and a set one holds over restarts',
    shown('unit/cli/tokens')('without ADMIN_TOKEN a token is made, and kept for its user alone'),
    shown('unit/cli/tokens')('with ADMIN_TOKEN nothing is made'),
    differs('no `ADMIN_TOKEN`'),
  ),
];

export const STATUS_SILENT: Silent[] = [
  { from: 1, to: 10, why: 'title, and files of the original' },
  { from: 18, to: 18, why: 'left by the copy' },
  ...[20, 24, 40, 44, 83, 91, 107, 115, 142, 148, 158, 166, 174, 178].map((line) => ({
    from: line,
    to: line,
    why: 'heading',
  })),
  ...[26, 72, 87, 111, 135, 152, 162].map((line) => ({ from: line, to: line, why: 'head of a table or list' })),
];
