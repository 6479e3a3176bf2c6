/** Progress of the current work. `done` and `total` are bytes of a download; without `total` its length is unknown. */
export interface Progress {
  text: string;
  done?: number;
  total?: number;
}
