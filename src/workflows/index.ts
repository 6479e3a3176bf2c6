export { baseline } from './baseline.ts';
export { codingTask } from './coding-task/coding-task.ts';
export { conversation } from './conversation/conversation.ts';
export { reminder } from './reminder.ts';
export { routine } from './routine/routine.ts';
export { shipment } from './shipment/shipment.ts';
