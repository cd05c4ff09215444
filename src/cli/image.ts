import type { ImageOptions, Images, PullCredentials, PullProgress, StoredImage } from '../app/images.ts';
import { exitCodeOf, exitCodes, failureLines } from './exit-codes.ts';
import type { ImageArguments } from './image-command.ts';
import { ImageProgress } from './view/image-progress.ts';
import { imageLines, shortId, sizeText } from './view/image-table.ts';
import { cut } from './view/table.ts';

/** What `podtender image` works with. */
export interface ImageDeps {
  readonly open: (options: {
    readonly dataDir: string;
    readonly registryConfig?: string;
    readonly credentials?: PullCredentials;
  }) => Images;
  /** Standard output; a terminal gets a line that is written over. */
  readonly stdout: { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown };
  /** Writes a line to standard error. */
  readonly warn: (line: string) => void;
  readonly now: () => number;
  /** Reads standard input to its end. */
  readonly readInput: () => Promise<string>;
  /** Calls back at each SIGINT, SIGTERM and SIGHUP; the returned function ends that. */
  readonly onSignal: (listener: () => void) => () => void;
}

/** The shortest time between two writes of the line on a terminal, ms. */
const lineMs = 100;

/** Runs a command of `podtender image`, and returns the exit code: that of the first failure. */
export async function image(options: ImageArguments, deps: ImageDeps): Promise<number> {
  const stop = new AbortController();
  const off = deps.onSignal(() => {
    stop.abort(new Error('interrupted; what is there is kept for the next pull'));
  });
  try {
    return await new ImageRun(options, deps, stop.signal).run();
  } finally {
    off();
  }
}

class ImageRun {
  readonly #options: ImageArguments;
  readonly #deps: ImageDeps;
  readonly #signal: AbortSignal;

  constructor(options: ImageArguments, deps: ImageDeps, signal: AbortSignal) {
    this.#options = options;
    this.#deps = deps;
    this.#signal = signal;
  }

  async run(): Promise<number> {
    const options = this.#options;
    const images = this.#deps.open({ ...options, ...(await this.#credentials()) });
    switch (options.act) {
      case 'ls':
        this.#list(images);
        return exitCodes.ok;
      case 'pull':
        return this.#each(options.names, (name) =>
          this.#fetch(name, async (more) => [await images.pull(name, more)]),
        );
      case 'import': {
        const { name } = options;
        return this.#each(options.files, (file) =>
          this.#fetch(file, (more) => images.import(file, { ...more, ...(name !== undefined && { name }) })),
        );
      }
      case 'rm':
        return this.#each(options.names, async (name) => {
          await images.remove(name);
          this.#say(`removed ${name}`, { type: 'removed', image: name });
        });
      case 'gc':
        await this.#collect(images, options);
        return exitCodes.ok;
    }
  }

  async #credentials(): Promise<{ readonly credentials?: PullCredentials }> {
    const options = this.#options;
    if (options.act !== 'pull') return {};
    const { authFile, username } = options;
    if (username !== undefined) {
      const password = (await this.#deps.readInput()).replace(/\r?\n$/, '');
      return { credentials: { auth: { username, password } } };
    }
    return authFile === undefined ? {} : { credentials: { authFile } };
  }

  #list(images: Images): void {
    const all = images.list();
    if (this.#options.output === 'json') for (const one of all) this.#say('', one);
    else for (const line of imageLines(all, this.#deps.now())) this.#say(line, {});
  }

  async #collect(
    images: Images,
    options: { readonly unused: boolean; readonly olderThanMs: number },
  ): Promise<void> {
    const { images: removed, bytes } = await images.collect(options);
    for (const { id, tags } of removed) {
      const name = tags[0] ?? id;
      this.#say(`removed ${name}`, { type: 'removed', image: name, id });
    }
    this.#say(`freed ${sizeText(bytes)}`, { type: 'freed', bytes });
  }

  /** Acts on each of several things, also after one has failed. */
  async #each(names: readonly string[], act: (name: string) => Promise<void>): Promise<number> {
    let code = exitCodes.ok;
    for (const name of names) {
      try {
        await act(name);
      } catch (reason) {
        for (const line of failureLines(reason)) this.#fail(name, line);
        if (this.#signal.aborted) return exitCodes.forced;
        if (code === exitCodes.ok) code = exitCodeOf(reason);
      }
    }
    return code;
  }

  #fail(name: string, line: string): void {
    const text = line.startsWith(name) ? line : `${name}: ${line}`;
    if (this.#options.output === 'json') this.#say('', { type: 'error', image: name, message: line });
    this.#deps.warn(text);
  }

  /** Fetches images with their progress, and says which they are. */
  async #fetch(name: string, act: (more: ImageOptions) => Promise<readonly StoredImage[]>): Promise<void> {
    const display = this.#display(name);
    let images: readonly StoredImage[];
    try {
      images = await act({ signal: this.#signal, onProgress: display.show });
    } finally {
      display.end();
    }
    for (const { id, tags, digests, size } of images) {
      const own = tags.includes(name) ? name : (tags.at(-1) ?? digests.at(-1) ?? name);
      this.#say(`${own}: ready, ${shortId(id)}, ${sizeText(size)}`, {
        type: 'ready',
        image: own,
        id,
        digests,
        size,
      });
    }
  }

  #display(name: string): { readonly show: (progress: PullProgress) => void; readonly end: () => void } {
    const { stdout, now } = this.#deps;
    const progress = new ImageProgress(name);
    const isLive = stdout.isTTY === true && this.#options.output === 'text';
    let last = 0;
    const show = (step: PullProgress): void => {
      const line = progress.add(step);
      if (!isLive) {
        if (line !== undefined) this.#say(line, { ...step, image: name });
        return;
      }
      if (line === undefined && now() - last < lineMs) return;
      last = now();
      stdout.write(`\r${cut(progress.line(), stdout.columns ?? 80)}\u001b[K`);
    };
    const end = (): void => {
      if (isLive && last > 0) stdout.write('\r\u001b[K');
    };
    return { show, end };
  }

  /** Writes a line of text, or its JSON. */
  #say(text: string, json: object): void {
    this.#deps.stdout.write(`${this.#options.output === 'json' ? JSON.stringify(json) : text}\n`);
  }
}
