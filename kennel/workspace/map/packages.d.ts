/** The parts of the package that are used here: its own types name another module. */
declare module '@vscode/tree-sitter-wasm' {
  export interface SyntaxNode {
    type: string;
    text: string;
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
