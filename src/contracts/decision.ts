/** `answered`: a question got an answer. `allow`/`deny`: an approval got its decision. */
export type Decision = 'answered' | 'allow' | 'deny';
