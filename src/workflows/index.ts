export { codingTask } from './coding-task/coding-task.ts';
export { conversation } from './conversation/conversation.ts';
export { routine } from './routine.ts';
