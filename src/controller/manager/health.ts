import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';

/** Checks one aspect of the program; throws when it is not well. */
export type HealthCheck = (request?: IncomingMessage) => void | Promise<void>;

/** A check that always passes: the process answers. */
export const ping: HealthCheck = () => undefined;

/** A check that takes longer than this has failed, ms. */
const checkMs = 10_000;

/** HealthHandler answers for a set of checks: all together at its root, each alone under its name. After `healthz.Handler`. */
export class HealthHandler {
  readonly #name: string;
  readonly #checks = new Map<string, HealthCheck>();
  readonly #deadline: (ms: number) => AbortSignal;

  /** @param name `healthz` or `readyz` */
  constructor(name: string, deadline: (ms: number) => AbortSignal = (ms) => AbortSignal.timeout(ms)) {
    this.#name = name;
    this.#deadline = deadline;
  }

  /** Adds a check, or replaces the one of that name. */
  add(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  /** @param path what follows the handler's own path: `''`, `/`, or `/NAME` */
  async serve(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = path.replace(/^\/+|\/+$/g, '');
    if (name === '') {
      await this.#serveAll(request, response);
      return;
    }
    const check = this.#checks.get(name) ?? (this.#checks.size === 0 && name === 'ping' ? ping : undefined);
    if (!check) {
      reply(response, 404, '404 page not found\n');
      return;
    }
    const fault = await this.#run(check, request);
    if (fault === undefined) reply(response, 200, 'ok');
    else reply(response, 500, `internal server error: ${fault}\n`);
  }

  async #serveAll(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams;
    const excluded = new Set(query.getAll('exclude'));
    const checks: readonly (readonly [string, HealthCheck])[] =
      this.#checks.size === 0 ? [['ping', ping]] : [...this.#checks];
    const lines = await Promise.all(
      checks.map(async ([name, check]) => {
        if (excluded.delete(name)) return { name, text: `[+]${name} excluded: ok\n`, failed: false };
        const failed = (await this.#run(check, request)) !== undefined;
        // the endpoint is public: a reason is shown by the check's own path
        return { name, text: failed ? `[-]${name} failed: reason withheld\n` : `[+]${name} ok\n`, failed };
      }),
    );
    lines.sort((one, other) => (one.name < other.name ? -1 : 1));
    const failed = lines.some((line) => line.failed);
    if (!failed && !query.has('verbose')) {
      reply(response, 200, 'ok');
      return;
    }
    const unknown = [...excluded].map(goQuote).join(',');
    const warning =
      unknown === '' ? '' : `warn: some health checks cannot be excluded: no matches for ${unknown}\n`;
    const end = `${this.#name} check ${failed ? 'failed' : 'passed'}\n`;
    reply(response, failed ? 500 : 200, `${lines.map(({ text }) => text).join('')}${warning}${end}`);
  }

  /** Returns what is wrong; undefined when the check passes. */
  async #run(check: HealthCheck, request: IncomingMessage): Promise<string | undefined> {
    try {
      const result = check(request);
      if (result) await Promise.race([result, ended(this.#deadline(checkMs))]);
      return undefined;
    } catch (reason) {
      return messageOf(reason);
    }
  }
}

const ended = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(new Error(`the check took longer than ${checkMs} ms`));
    });
  });

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}
