/** What is being done now. `done` and `total` are bytes of a download; without `total` the end is not known. */
export interface Progress {
  text: string;
  done?: number;
  total?: number;
}
