import { differs, type Sentence, says, shown } from './register.ts';

/**
 * What NanoClaw's users have, by the line of its capability contract, and what shows that ours does it. Where ours is
 * another way, docs/differences.md says why.
 */

const telegramGroups = shown('integration/groups/telegram');
const chats = shown('integration/groups/chats');
const groupRules = shown('unit/domain/groups');
const inward = shown('integration/gateway/channels/whatsapp/inward');
const outward = shown('integration/gateway/channels/whatsapp/outward');
const asking = shown('integration/gateway/channels/whatsapp/asking');
const connection = shown('integration/gateway/channels/whatsapp/connection');
const rules = shown('unit/gateway/channels/whatsapp/rules');
const mcp = shown('unit/api/mcp');
const overMcp = shown('integration/protocols/mcp');
const inContainers = shown('integration/extensions/mcp-agents');
const claw = shown('unit/kennel/runner-nanoclaw');
const files = shown('unit/kennel/nanoclaw');
const routines = shown('integration/turns/routines');
const firings = shown('unit/domain/firings');
const workspaces = shown('integration/workspaces/tools');
const fromInside = shown('integration/kennel/escape');
const containers = shown('integration/kennel/containers');
const coding = shown('integration/tasks/coding-task');
const opened = shown('integration/browser/open');
const acting = shown('integration/browser/actions');
const claude = shown('unit/kennel/claude-profile');

const IMAGE = shown('integration/tasks/nanoclaw')('works as it is: by its own protocol, over a restart');
const TOLD = claw('is told what the protocol says, with no real key, and answers several times');
const SCHEDULED = claw('is told a scheduled prompt as it stands');
const MORE = claw('hears more while it runs, in the same session, and goes on in it in another container');
const BY_FILES = claw('asks the host by files, each carried out once, and reads what there is');
const MARKERS = files('is what stands between whole marker lines, however the stream is cut');
const FOLLOW_UPS = files('have follow-ups in the order in which they were written, and the word to end');
const FRESH = files('tell the agent of groups and schedules as they are now');
const NO_KEY = fromInside('defect 38: are in no file, no environment and no command line');
const REGISTERED = inward('tells its owner of a new group, and answers there by the rule that the owner has agreed to');
const AS_THE_RULE_SAYS = telegramGroups('answers in a registered group whom the rule lets call, and nobody else');
const NOTED = chats('notes what happened to its groups while it was away');
const MAIN_ONLY = chats('lets no other chat reach the owner’s chats, whatever its calls say');
const FILES_OF_A_GROUP = chats('gives a group its own folder, memories and files, whoever of it asks');
const CONTRACT_NAMES = mcp('take the arguments of the contract, and each fits our tool');
const LISTED = mcp('answer with the id, and list what there is');
const BY_NAME = overMcp('schedules a prompt by the names of NanoClaw');
const SPEAKS = inContainers('speaks in the chat of its task, and in no other, once for each call');
const OF_EVERY_CHAT = inContainers('sees and changes the schedules of every chat from the owner’s own');
const SNAPSHOTS = inContainers('is told of groups and schedules by the files of the protocol');
const QR = connection('by QR: scanned once, connected after the restart');
const RESTARTED = connection('connects by itself after a restart');
const TYPING = asking('is "typing" while its turn runs, and nothing after it');
const WAITED = outward('that waited go out in order, each once');
const SENT = outward('are sent when the server has taken them');
const NAME_BEFORE = shown('unit/gateway/channels/whatsapp/content')(
  'begins with the name of who writes on a shared number',
);
const ADDRESSES = rules('tells groups, broadcasts, newsletters and the status feed from people');
const EDITED = workspaces('are written, read, searched, listed, edited and deleted');
const PAGE = opened('opens a page and says what is on it, with a number for each element');
const ACTS = acting('types, clicks, goes back and forward, and shows the page after each');
const ACTS_MORE = acting('adds to a field, presses keys, chooses, loads again and closes');
const READS = acting('reads one thing, or a part of the page');
const WHOLE_PAGE = acting('takes all of a long page, and makes a PDF of it');
const TEAMS = claude('has agent teams where its project switches them on');
const MEMORY = claude('keeps its memory in the folder of its project where that has one for it');

const UPLOADS = acting('uploads a file of its chat, after a person was shown which one');
const SAVED_LOGINS = acting('saves a log-in of its chat, which only a later browser of the same chat can load');
const OWN_BROWSER = differs('`agent-browser` in a container');
const IN_CONTAINER = shown('integration/browser/chat')('is used by an agent in its container');
const AFTER_A_YES = differs('another chat: messages, schedules, `register_group`');

export const NANOCLAW_ELEMENTS = 169;

export const NANOCLAW: Sentence[] = [
  says(13, 'messages of WhatsApp', inward('answers the owner, and what comes within a second becomes one turn')),
  says(14, 'stdin of a container', TOLD),
  says(15, 'stdout of a container', MARKERS),
  says(16, 'messages as files', BY_FILES, files('are calls in the order of their names, each once')),
  says(17, 'tasks as files', BY_FILES, files('are set aside when they are no JSON, no file, or too large')),
  says(18, 'input as files', FOLLOW_UPS),

  says(
    30,
    'a channel has a name',
    shown('unit/gateway/channels/telegram/telegram')('says after an hour that a message'),
  ),
  says(31, 'it connects', RESTARTED),
  says(32, 'it sends', SENT),
  says(
    33,
    'it says whether it is connected',
    shown('unit/gateway/channels/whatsapp/connection')('is the state of the'),
  ),
  says(34, 'it knows its addresses', ADDRESSES),
  says(35, 'it disconnects', connection('logs out, which the phone sees, and can be linked again')),
  says(36, 'it shows that it types', TYPING),
  says(
    44,
    'messages of registered chats',
    telegramGroups('keeps the last fifty messages of seven days, and nothing of a group that is not registered'),
  ),
  says(44, 'whatever a message is', shown('unit/gateway/channels/telegram/telegram')('reads every kind of message')),
  says(48, 'a chat is discovered', telegramGroups('tells the owner once that it was added to a group'), REGISTERED),
  says(49, 'with its time', shown('unit/gateway/channels/whatsapp/inward')('does not take a time from the far future')),
  says(50, 'with its name', telegramGroups('notices another name, its removal, and that the owner has left')),
  says(51, 'with its channel', chats('tells groups of one name apart')),
  says(52, 'as a group or not', ADDRESSES),
  says(60, 'connect makes a connection', RESTARTED),
  says(60, 'connect shows a QR', QR),
  says(60, 'connect waits longer each time', rules('waits with full jitter, doubling from 2 s to 5 min')),
  says(61, 'the name before a text on a shared number', NAME_BEFORE),
  says(61, 'texts wait while it is away', WAITED),
  says(62, 'typing and its end', TYPING),
  says(63, 'names of groups', NOTED, telegramGroups('notices another name, its removal')),
  says(
    63,
    'names are kept for a day',
    shown('integration/gateway/channels/whatsapp/groups')(
      'is asked for its members once, and again after they changed',
    ),
    differs('names of groups'),
  ),
  says(64, 'addresses of WhatsApp', ADDRESSES),

  says(72, 'one JSON, then the end of stdin', TOLD),
  says(76, 'prompt', TOLD, SCHEDULED),
  says(77, 'sessionId', MORE, differs('the session of a group')),
  says(78, 'groupFolder', TOLD, IMAGE),
  says(79, 'chatJid', TOLD, IMAGE),
  says(80, 'isMain', SCHEDULED, MAIN_ONLY),
  says(81, 'isScheduledTask', SCHEDULED, chats('has the privileges of the chat that scheduled it')),
  says(82, 'assistantName', TOLD),
  says(83, 'secrets', TOLD, IMAGE, differs('secrets of an agent')),
  says(87, 'a key or a log-in', TOLD, shown('integration/tasks/login')('has a copy in its HOME')),
  says(87, 'secrets are nowhere else', NO_KEY),
  says(91, 'several answers', TOLD),
  says(94, 'answers between markers', MARKERS),
  says(101, 'status', claw('fails with what it says of an error, and with the code of a program that ends badly')),
  says(102, 'result', MARKERS),
  says(103, 'newSessionId', MARKERS, MORE),
  says(104, 'error', claw('fails with what it says of an error, and with the code of a program that ends badly')),
  says(108, 'each answer is told at once', TOLD, IMAGE),
  says(108, '`<internal>` is not told', TOLD, routines('sends nothing when all of its answer is internal')),
  says(108, 'each answer begins the time anew', claw('has its time again from each answer on')),
  says(112, 'more messages while it waits', MORE),
  says(115, 'files with their times as names', FOLLOW_UPS),
  says(119, 'the form of a follow-up', FOLLOW_UPS),
  says(122, 'it looks for them again and again', MORE),
  says(122, '`_close` ends it', FOLLOW_UPS, TOLD),

  says(128, 'tools of the server nanoclaw', SPEAKS),
  says([132, 145], 'send_message speaks at once, while the agent works', SPEAKS, IMAGE),
  says(140, 'send_message: text', SPEAKS, chats('writes to a registered group only, and says what happened')),
  says(141, 'send_message: sender', SPEAKS, CONTRACT_NAMES, differs('`sender` of `send_message`')),
  says(143, 'send_message: main to any chat, others to their own', MAIN_ONLY, SPEAKS, AFTER_A_YES),
  says(160, 'schedule_task gives the id', BY_NAME),
  says(165, 'schedule_task: prompt', BY_NAME, routines('runs as a turn of its chat when the chat is free, over kills')),
  says(166, 'schedule_task: schedule_type', CONTRACT_NAMES),
  says(167, 'schedule_task: schedule_value', CONTRACT_NAMES, routines('refuses schedules that are wrong')),
  says(168, 'schedule_task: context_mode', CONTRACT_NAMES, BY_NAME),
  says(169, 'schedule_task: target_group_jid, main only', CONTRACT_NAMES, MAIN_ONLY, SPEAKS, AFTER_A_YES),
  says(175, 'every day at 9:00', CONTRACT_NAMES, routines('defect 13: fires by its cron with no client attached')),
  says(176, 'every five minutes, by cron', CONTRACT_NAMES, firings('a pattern for every hour goes on with the hours')),
  says(177, 'every hour', CONTRACT_NAMES, firings('an interval begins when it was made, and no clock moves it')),
  says(178, 'every five minutes, by an interval', CONTRACT_NAMES, firings('an interval begins when it was made')),
  says(179, 'once at a local time', CONTRACT_NAMES, routines('runs once at a local time, and is gone after that')),
  says(185, 'list_tasks', BY_NAME),
  says(191, 'list_tasks: main all, others their own', OF_EVERY_CHAT),
  says(193, 'list_tasks: id, prompt, schedule, state, next run', LISTED),
  says(199, 'pause_task', BY_NAME),
  says(205, 'pause_task: main any, others their own', OF_EVERY_CHAT, AFTER_A_YES),
  says(211, 'resume_task', BY_NAME),
  says(217, 'resume_task: main any, others their own', OF_EVERY_CHAT, AFTER_A_YES),
  says(236, 'register_group: jid', REGISTERED, CONTRACT_NAMES),
  says(237, 'register_group: name', CONTRACT_NAMES, differs('`name` of `register_group`')),
  says(238, 'register_group: folder', groupRules('gets a folder of its own, whatever its name'), CONTRACT_NAMES),
  says(239, 'register_group: trigger', groupRules('is called by its own word and by the usual one'), AS_THE_RULE_SAYS),
  says(241, 'register_group: main only', MAIN_ONLY, AFTER_A_YES),
  says(243, 'groups to register are known beforehand', FRESH, SNAPSHOTS),
  says(249, 'cancel_task', BY_NAME),
  says(249, 'cancel_task and the runs', BY_NAME, differs('`cancel_task`')),
  says(255, 'cancel_task: main any, others their own', OF_EVERY_CHAT, AFTER_A_YES),

  // the image has them, and so has the model of the chat
  says(265, 'Bash', IMAGE, workspaces('run in the workspace, and all that they print is kept and streamed')),
  says(266, 'Read', IMAGE, EDITED),
  says(267, 'Write', IMAGE, EDITED),
  says(268, 'Edit', IMAGE, EDITED),
  says(269, 'Glob', IMAGE, EDITED),
  says(270, 'Grep', IMAGE, EDITED),
  says(271, 'WebSearch', shown('unit/adapters/searxng')('a search asks the instance for JSON in the category')),
  says(272, 'WebFetch', shown('unit/adapters/web-fetch')('an article is read as markdown with absolute links')),
  says(273, 'Task', IMAGE, coding('is split into parts, which come in one after the other')),
  says(273, 'TaskOutput', IMAGE, coding('is tried by several at once from one commit')),
  says(273, 'TaskStop', IMAGE, coding('defect 35, defect 37: is ended by the word "stop"')),
  says(274, 'TeamCreate', IMAGE, TEAMS),
  says(274, 'TeamDelete', IMAGE, TEAMS),
  says(274, 'SendMessage', IMAGE, TEAMS),
  says(275, 'TodoWrite', IMAGE, shown('unit/domain/plan')('are told as a list to tick off')),
  says(
    276,
    'ToolSearch',
    IMAGE,
    shown('integration/turns/families')('is there at once when a word of the person asks'),
  ),
  says(277, 'Skill', IMAGE, shown('integration/extensions/files')('has the files of a skill in the containers')),
  says(278, 'NotebookEdit', IMAGE, EDITED, differs('`NotebookEdit`')),
  says(
    280,
    'it asks nothing',
    claw('begins only after a yes where a person wants to be asked'),
    differs('`bypassPermissions`'),
  ),
  says(282, 'no key in a shell', NO_KEY, differs('secrets of an agent')),

  says(293, 'open', PAGE, IN_CONTAINER, OWN_BROWSER),
  says(294, 'back', ACTS),
  says(295, 'forward', ACTS),
  says(296, 'reload', ACTS_MORE),
  says(297, 'close', ACTS_MORE),
  says(303, 'snapshot', PAGE),
  says(304, 'snapshot -i', READS),
  says(305, 'snapshot -c', PAGE),
  says(306, 'snapshot -d', READS),
  says(307, 'snapshot -s', READS),
  says(310, 'elements by their refs', ACTS, acting('acts on no number of an earlier page')),
  says(313, 'click', ACTS),
  says(314, 'fill', ACTS),
  says(315, 'type', ACTS_MORE),
  says(316, 'press', ACTS_MORE),
  says(317, 'select', ACTS_MORE),
  says(318, 'scroll', acting('scrolls, and clicks at a place')),
  says(319, 'upload', UPLOADS, differs('`agent-browser upload`')),
  says(325, 'get text', READS),
  says(326, 'get html', READS),
  says(327, 'get value', READS),
  says(328, 'get attr', READS),
  says(329, 'get title', PAGE),
  says(330, 'get url', PAGE),
  says(331, 'get count', READS),
  says(337, 'screenshot', acting('stores a picture of the page for the chat, once for each call')),
  says(338, 'screenshot --full', WHOLE_PAGE),
  says(339, 'pdf', WHOLE_PAGE),
  says(345, 'state save', SAVED_LOGINS, differs('`agent-browser state save`')),
  says(346, 'state load', SAVED_LOGINS, differs('`agent-browser state save`')),

  says(357, 'the real client of WhatsApp Web', RESTARTED),
  says(
    358,
    'the log-in is kept',
    shown('integration/gateway/channels/whatsapp/auth')('gives back every kind of value as Baileys stored it'),
    differs('the log-in of WhatsApp'),
  ),
  says(358, 'a QR at the first time', QR),
  says(
    359,
    'chat, time, sender, text, own or not',
    shown('unit/gateway/channels/whatsapp/inward')('defect 4: takes the'),
  ),
  says(360, 'texts go out', SENT, NAME_BEFORE),
  says(361, 'typing', TYPING),
  says(362, 'groups that it is in', NOTED),
  says(363, 'addresses of groups and people', ADDRESSES),
  says(363, 'LID and number are one person', inward('defect 6: takes one person for one, whichever address')),
  says(364, 'it connects again', rules('waits with full jitter'), RESTARTED),
  says(364, 'what waited goes out', WAITED),

  says(370, 'in a container, not as root', containers('is no root, has no capability and can gain none')),
  says(371, 'a session goes on', MORE, differs('the session of a group')),
  says(372, 'agent teams', TEAMS, differs('agent teams and auto-memory')),
  says(373, 'auto-memory, and CLAUDE.md of a group', MEMORY, FILES_OF_A_GROUP, differs('agent teams and auto-memory')),
  says(
    374,
    'no questions of the agent',
    claw('begins only after a yes where a person'),
    differs('`bypassPermissions`'),
  ),
  says(
    375,
    'what was said stays after a compaction',
    chats('finds what was said before the conversation began anew, and only in its own chat'),
    differs('`conversations/*.md`'),
  ),
  says(375, 'no secrets in a shell', NO_KEY),
  says(376, 'secrets are in no environment', NO_KEY, differs('secrets of an agent')),

  says(382, 'nanoclaw-agent:latest', IMAGE),
  says(383, 'what its image has', IMAGE, OWN_BROWSER),
  says(
    384,
    'the program of the engine',
    shown('unit/adapters/kennel-images')('is taken from DOCKER_HOST'),
    differs('`CONTAINER_RUNTIME`'),
  ),
  says(
    385,
    'stdin, removal and name of a container',
    shown('unit/adapters/kennel-images')('has one name for each home, task and step'),
    containers('is gone with all of its processes when it is removed'),
    differs('name and end of a container'),
  ),
  says(386, 'its own command is started', IMAGE),
  says(
    387,
    'what is left of an earlier process',
    coding('goes on in its container when the kennel worker is killed'),
    containers('has ended, is removed by any instance'),
    differs('containers at the start'),
  ),
  says(388, 'its user', containers('is no root, has no capability and can gain none')),

  says(398, 'available_groups.json before and during each run', FRESH, BY_FILES, SNAPSHOTS),
  says(400, 'groups for main', SNAPSHOTS, FRESH),
  says(401, 'groups for others', MAIN_ONLY, differs('`available_groups.json`')),
  says(405, 'current_tasks.json before and during each run', FRESH, BY_FILES, SNAPSHOTS),
  says(407, 'tasks for main', OF_EVERY_CHAT),
  says(408, 'tasks for others', OF_EVERY_CHAT),
  says(412, 'sessions-index.json is the agent’s own', IMAGE, differs('`conversations/*.md`')),
];
