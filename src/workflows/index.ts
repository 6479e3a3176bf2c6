export { conversation } from './conversation.ts';
export { routine } from './routine.ts';
