/** The parts of the package that are used here: its own types name another module. */
declare module '@vscode/tree-sitter-wasm' {
  interface Point {
    row: number;
    column: number;
  }

  export interface SyntaxNode {
    id: number;
    type: string;
    text: string;
    parent: SyntaxNode | null;
    /** the smallest node there; columns count as JavaScript does */
    namedDescendantForPosition(start: Point, end: Point): SyntaxNode | null;
    namedChildren: Array<SyntaxNode | null>;
    childForFieldName(name: string): SyntaxNode | null;
  }

  interface Grammar {
    readonly name: string | null;
  }

  interface SyntaxParser {
    setLanguage(grammar: Grammar): void;
    /** null when `progressCallback` has returned true */
    parse(
      text: string,
      before: null,
      options: { progressCallback: () => boolean },
    ): { rootNode: SyntaxNode; delete(): void } | null;
    reset(): void;
  }

  const treeSitter: {
    Parser: { new (): SyntaxParser; init(): Promise<void> };
    Language: { load(file: string): Promise<Grammar> };
  };
  export default treeSitter;
}
