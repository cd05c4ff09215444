import { AgentError, type ErrorCode } from '../../base/errors.ts';
import type { RegistryResponse } from './registry-transport.ts';

/** RegistryFault is a response of a registry that is no success. */
export class RegistryFault extends AgentError {
  readonly status: number;
  /** The time after which the registry wants to be asked again, ms. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, { status, retryAfterMs }: FaultDetails) {
    super(code, message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

interface FaultDetails {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
}

/** The number of bytes of an error's body that are read. */
const maxBodyBytes = 64 * 1024;

/** Reads a response that is no success. @param what the subject of the message */
export async function registryFault(response: RegistryResponse, what: string): Promise<RegistryFault> {
  const { status } = response;
  const reason = reasonOf(await head(response));
  const details = { status, retryAfterMs: retryAfter(response) };
  return new RegistryFault(codeOf(status), `${what}: ${status}${reason === '' ? '' : ` ${reason}`}`, details);
}

async function head({ body }: RegistryResponse): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      parts.push(part);
      bytes += part.length;
      if (bytes >= maxBodyBytes) break;
    }
  } catch {
    // the status says enough
  }
  return Buffer.concat(parts).toString();
}

/** Returns the errors of a body in the registries' format, otherwise the start of its text. */
function reasonOf(body: string): string {
  let errors: unknown;
  try {
    ({ errors } = JSON.parse(body) as { readonly errors?: unknown });
  } catch {
    // no JSON
  }
  const texts = (Array.isArray(errors) ? (errors as readonly unknown[]) : []).map((error) => {
    const { code, message } = (error ?? {}) as Partial<Record<'code' | 'message', unknown>>;
    return [code, message].filter((part) => typeof part === 'string' && part !== '').join(': ');
  });
  const text = texts.length > 0 ? texts.join('; ') : body;
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
    .slice(0, 300);
}

/** Reads `Retry-After`: seconds, or a date, which counts from the response's own `Date`, so that no clock needs to agree with the registry's. */
function retryAfter(response: RegistryResponse): number | undefined {
  const value = response.header('retry-after')?.trim() ?? '';
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const ms = Date.parse(value) - Date.parse(response.header('date') ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function codeOf(status: number): ErrorCode {
  if (status === 404 || status === 410) return 'not_found';
  if (status === 401 || status === 403) return 'unauthenticated';
  if (status === 408 || status === 429 || status >= 500) return 'unavailable';
  return 'failed_precondition';
}
