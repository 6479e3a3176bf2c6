export { codingTask } from './coding-task.ts';
export { conversation } from './conversation.ts';
export { routine } from './routine.ts';
