import { Lexer } from 'yaml';

/** Internals of yaml's lexer that this file uses; the version is pinned. */
interface LexerInside {
  /** Minimum indentation of continuation lines. */
  indentNext: number;
  parseFlowCollection: Step;
  parseQuotedScalar: Step;
}
type Step = (this: LexerInside) => Generator<string, unknown>;

/**
 * Returns a lexer that tokenizes like Go's library: within `[…]`, `{…}` and quotes, indentation is ignored. The YAML specification
 * requires such lines to be indented deeper than their key, but many manifests have the closing bracket at the beginning of a line.
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
        // Reset when a document ends within a collection.
        if (this.indentNext === 0) this.indentNext = indentNext;
      }
    };
  }
  return lexer;
}
