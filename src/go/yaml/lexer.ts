import { Lexer } from 'yaml';

/** What this file knows of the insides of yaml's lexer; its version is pinned. */
interface LexerInside {
  /** The least indentation of what goes on in the next line. */
  indentNext: number;
  parseFlowCollection: Step;
  parseQuotedScalar: Step;
}
type Step = (this: LexerInside) => Generator<string, unknown>;

/**
 * Cuts YAML into tokens as Go's library does: within `[…]`, `{…}` and quotes it does not matter how far a line is indented. The YAML specification
 * wants such lines further in than the key that they belong to, and many a manifest has its closing bracket at the beginning of a line.
 */
export function goLexer(): Lexer {
  const lexer = new Lexer();
  const inside = lexer as unknown as LexerInside;
  for (const name of ['parseFlowCollection', 'parseQuotedScalar'] as const) {
    const step = inside[name];
    inside[name] = function* () {
      const { indentNext } = this;
      this.indentNext = 0;
      try {
        return yield* step.call(this);
      } finally {
        // set anew where a document ends within
        if (this.indentNext === 0) this.indentNext = indentNext;
      }
    };
  }
  return lexer;
}
