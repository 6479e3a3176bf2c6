/** Keys that reach beyond the walls of a container here. A person reads the reason beside the line. */
export const REFUSED: Record<string, string> = {
  initializeCommand: 'It would run on this machine, outside of every container.',
  dockerComposeFile: 'It would start other containers. Name what tests need as services instead.',
  runServices: 'It would start other containers.',
  mounts: 'It would show folders of this machine to the container.',
  workspaceMount: 'It would show another folder of this machine to the container.',
  privileged: 'It would take the walls of the container away.',
  capAdd: 'It would give the container rights of the system.',
  securityOpt: 'It would take a wall of the container away.',
  runArgs: 'It would change how the container is started.',
  appPort: 'It would open a port of this machine.',
  secrets: 'Secrets of this machine never enter a container.',
};
export const REFUSED_IN_BUILD: Record<string, string> = {
  options: 'It would change how the image is built.',
  cacheFrom: 'It would take layers from an image that somebody else can change.',
};
/** Variables with which the programs of the container itself would be changed. */
export const OWN_VARIABLE =
  /^(FETCH_|LD_|DYLD_|HOME$|PATH$|USER$|NODE_OPTIONS$|NODE_COMPILE_CACHE$|BASH_ENV$|ENV$|(HTTPS?|NO|ALL)_PROXY$)/i;
