/** What the live view needs of a terminal: Node's `tty.WriteStream` is one. */
export interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** What happens to the program in its shell; each function returned ends what it began. */
export interface JobControl {
  /** Calls back before the program is stopped by the terminal (Ctrl-Z). */
  onStop(listener: () => void): () => void;
  /** Calls back when it goes on (`fg`, `bg`). */
  onContinue(listener: () => void): () => void;
  /** Calls back as the process ends, however it does. */
  onExit(listener: () => void): () => void;
  /** Whether the terminal is this program's now: not after `bg`. */
  isForeground(): boolean;
}

const escape = '\u001b[';
/** The second buffer of the terminal, as `less` and `top` use it: without a cursor, and lines that are too long are cut. */
const enter = `${escape}?1049h${escape}?25l${escape}?7l`;
const leave = `${escape}H${escape}0J${escape}?7h${escape}?25h${escape}?1049l`;

/**
 * Shows whole screens of lines in the terminal's second buffer, which has no history that a resize could shift or double. What stood on the terminal
 * before is there again afterwards.
 */
export class LiveScreen {
  readonly #terminal: Pick<Terminal, 'write'>;
  #shown: string | undefined;

  constructor(terminal: Pick<Terminal, 'write'>) {
    this.#terminal = terminal;
  }

  /** Writes the lines from the upper left corner on; nothing when they are shown already. */
  show(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}${escape}K`).join('\r\n');
    if (text === this.#shown) return;
    const start = this.#shown === undefined ? enter : '';
    this.#shown = text;
    this.#terminal.write(`${start}${escape}H${text}${escape}0J`);
  }

  /** Writes all lines anew at the next {@link show}: the terminal may hold something else. */
  forget(): void {
    if (this.#shown !== undefined) this.#shown = '';
  }

  /** Leaves the second buffer; a later {@link show} enters it again. */
  leave(): void {
    if (this.#shown === undefined) return;
    this.#shown = undefined;
    this.#terminal.write(leave);
  }
}
