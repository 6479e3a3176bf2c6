import { type Proof, shown } from './register.ts';

/** What NanoClaw's contract says of groups, by its element, and what shows that ours does it. */

const telegram = shown('integration/groups/telegram');
const chats = shown('integration/groups/chats');
const rules = shown('unit/domain/groups');
const inward = shown('integration/gateway/channels/whatsapp/inward');
const mcp = shown('unit/api/mcp');

const REGISTERED = inward('tells its owner of a new group, and answers there by the rule that the owner has agreed to');
const MAIN_ONLY = chats('lets no other chat reach the owner’s chats, whatever its calls say');
const AS_THE_RULE_SAYS = telegram('answers in a registered group whom the rule lets call, and nobody else');
const CONTRACT_NAMES = mcp('take the arguments of the contract, and each fits our tool');

export const GROUP_ELEMENTS: Record<string, Proof[]> = {
  'onChatMetadata: a group is discovered': [telegram('tells the owner once that it was added to a group'), REGISTERED],
  'onInboundMessage: only registered chats': [
    telegram('keeps the last fifty messages of seven days, and nothing of a group that is not registered'),
  ],
  'sendMessage: the name before texts on a shared number': [
    shown('unit/gateway/channels/whatsapp/content')('begins with the name of who writes on a shared number'),
  ],
  'syncGroupMetadata: names follow': [
    telegram('notices another name, its removal, and that the owner has left'),
    chats('notes what happened to its groups while it was away'),
  ],
  'ContainerInput.isMain: privilege of the chat of the call': [MAIN_ONLY],
  'ContainerInput.isScheduledTask: the privileges of its chat': [
    chats('has the privileges of the chat that scheduled it, in a conversation of its own'),
  ],
  'send_message: text': [chats('writes to a registered group only, and says what happened')],
  'send_message: main to any chat, others to their own': [MAIN_ONLY],
  'schedule_task: target_group_jid, main only': [CONTRACT_NAMES, MAIN_ONLY],
  'list_tasks, pause_task, resume_task, cancel_task: main any, others their own': [MAIN_ONLY],
  'register_group: jid, name, folder, trigger': [CONTRACT_NAMES, REGISTERED],
  'register_group: folder names': [rules('gets a folder of its own, whatever its name')],
  'register_group: trigger of the group': [rules('is called by its own word and by the usual one'), AS_THE_RULE_SAYS],
  'register_group: main only': [MAIN_ONLY],
  'available_groups.json: main sees all, others themselves': [MAIN_ONLY],
  'groups/<folder>: files of a group are its own': [
    chats('gives a group its own folder, memories and files, whoever of it asks'),
  ],
  'groups/<folder>/CLAUDE.md': [
    chats('takes the notes in the folder of a group for the owner’s word only where the owner has written them'),
  ],
  'groups/global: read only for groups': [
    chats('gives a group its own folder, memories and files, whoever of it asks'),
  ],
  'messages since the last answer': [telegram('reads what was said since its last answer, each with its author, once')],
  'conversations/*.md: what was said can be found and read': [
    chats('finds what was said before the conversation began anew, and only in its own chat'),
  ],
};
