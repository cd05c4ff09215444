/** The terminal features that the live view needs: Node's `tty.WriteStream` has them. */
export interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** Job control events; each returned function unsubscribes. */
export interface JobControl {
  /** Calls `listener` before the terminal suspends the program (Ctrl-Z). */
  onStop(listener: () => void): () => void;
  /** Calls `listener` when it resumes (`fg`, `bg`). */
  onContinue(listener: () => void): () => void;
  /** Calls `listener` when the process exits for any reason. */
  onExit(listener: () => void): () => void;
  /** Reports whether the program is in the foreground: not after `bg`. */
  isForeground(): boolean;
}

const escape = '\u001b[';
/** Enters the terminal's alternate buffer, as `less` and `top` use it: without a cursor, and with long lines cut. */
const enter = `${escape}?1049h${escape}?25l${escape}?7l`;
const leave = `${escape}H${escape}0J${escape}?7h${escape}?25h${escape}?1049l`;

/**
 * LiveScreen shows full screens of lines in the terminal's alternate buffer, which has no history that a resize could shift or double.
 * The previous content is restored afterwards.
 */
export class LiveScreen {
  readonly #terminal: Pick<Terminal, 'write'>;
  #shown: string | undefined;

  constructor(terminal: Pick<Terminal, 'write'>) {
    this.#terminal = terminal;
  }

  /** Writes the lines from the upper left corner; does nothing when they are already shown. */
  show(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}${escape}K`).join('\r\n');
    if (text === this.#shown) return;
    const start = this.#shown === undefined ? enter : '';
    this.#shown = text;
    this.#terminal.write(`${start}${escape}H${text}${escape}0J`);
  }

  /** Makes the next {@link show} redraw all lines: the terminal may have other content. */
  forget(): void {
    if (this.#shown !== undefined) this.#shown = '';
  }

  /** Leaves the alternate buffer; a later {@link show} enters it again. */
  leave(): void {
    if (this.#shown === undefined) return;
    this.#shown = undefined;
    this.#terminal.write(leave);
  }
}
