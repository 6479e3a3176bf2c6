/** What is known of an index before it is read. */
export interface IndexAnswer {
  /** the address that was asked for */
  url: URL;
  accept: string;
  /** the media type of the answer, in lower case, without parameters */
  type: string;
}

/** Where the files that an index names are to be found in the cache. */
export interface Links {
  /** an address that may be relative; null: it stays as it is */
  rewritten(address: string): string | null;
  /** the host name for the origin of an address; null where it can have none */
  host(address: string): string | null;
}

/** A package manager whose registries may keep their files at another host. */
export interface Rewriter {
  /** in bytes */
  largest: number;
  concerns(answer: IndexAnswer): boolean;
  /** Returns the text itself where there is nothing to change. A text that is no index stays as it is. */
  rewrite(text: string, links: Links): string;
}
