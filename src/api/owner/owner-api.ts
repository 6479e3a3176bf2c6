import type { Endpoint } from '../http/endpoint.ts';
import type { RuntimeDeps } from '../runtime/shared/endpoint.ts';
import { checkModel } from './instance/model.ts';
import {
  deletePerson,
  getChats,
  getPeople,
  getTelegram,
  pairTelegram,
  patchChat,
  postAskAgain,
  postGroup,
  postPerson,
} from './instance/people.ts';
import { getSettings, patchSettings, postRestart } from './instance/settings.ts';
import { getAgents, getBackups, getDoctor, getLogs, getTemporal } from './instance/state.ts';
import { getOwnerWhatsApp, pairWhatsApp, stopWhatsApp, unlinkWhatsApp } from './instance/whatsapp.ts';
import { getOwnerEvents } from './now/events.ts';
import { getNow, getQuestion, postSeen } from './now/now.ts';
import { deletePush, getPush, postPush, testPush } from './push/push.ts';
import { postPreview } from './work/preview.ts';
import {
  deleteScheduleOrReminder,
  getSchedules,
  pauseSchedule,
  postSchedule,
  resumeSchedule,
  runSchedule,
} from './work/schedules.ts';
import { getSpend } from './work/spend.ts';
import { taskOrders, tellTask } from './work/task-orders.ts';
import { getTask, getTaskDiff, getTaskLog, getTasks } from './work/tasks.ts';
import { getWorkspaces, removeEgress } from './work/workspaces.ts';

/** The API of the owner's page, beside the runtime API. */
export const ownerEndpoints: ReadonlyArray<Endpoint<RuntimeDeps>> = [
  ...[getNow, getQuestion, postSeen, getOwnerEvents],
  ...[getTasks, getTask, getTaskLog, getTaskDiff, ...taskOrders, tellTask],
  ...[getWorkspaces, removeEgress],
  ...[getSchedules, postSchedule, postPreview, runSchedule, pauseSchedule, resumeSchedule, deleteScheduleOrReminder],
  ...[getSpend],
  ...[getSettings, patchSettings, postRestart, checkModel],
  ...[getChats, patchChat, postAskAgain, getPeople, postPerson, deletePerson, postGroup],
  ...[getPush, postPush, deletePush, testPush],
  ...[getTelegram, pairTelegram],
  ...[getOwnerWhatsApp, pairWhatsApp, stopWhatsApp, unlinkWhatsApp],
  ...[getAgents, getBackups, getLogs, getDoctor, getTemporal],
];
