/** What the live view needs of a terminal: Node's `tty.WriteStream` is one. */
export interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

const escape = '\u001b[';

/** Keeps a block of lines at the end of the terminal's output and writes it anew in place; other lines scroll above it. */
export class LiveBlock {
  readonly #terminal: Terminal;
  #lines: readonly string[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Shows `lines` where the last ones were. */
  show(lines: readonly string[]): void {
    this.#terminal.write(`${this.#erase()}${lines.map((line) => `${line}\n`).join('')}`);
    this.#lines = lines;
  }

  /** Writes lines above the block that stay. */
  print(lines: readonly string[]): void {
    const block = this.#lines;
    this.#terminal.write(`${this.#erase()}${[...lines, ...block].map((line) => `${line}\n`).join('')}`);
  }

  /** Leaves the block as it stands; what follows comes below it. */
  end(): void {
    this.#lines = [];
  }

  /** Moves to the block's first line and clears from there. A narrower terminal has wrapped its lines meanwhile. */
  #erase(): string {
    const columns = Math.max(1, this.#terminal.columns ?? 80);
    const height = this.#lines.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(visibleLength(line) / columns)),
      0,
    );
    return height === 0 ? '' : `${escape}${height}A\r${escape}0J`;
  }
}

function visibleLength(line: string): number {
  return line.replaceAll(/\u001b\[[\d;]*m/g, '').length;
}
