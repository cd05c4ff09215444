import { existsSync, readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { AgentError, messageOf } from '../base/errors.ts';
import { nameOf, namespaceOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import { Authority, type KeyPair } from '../pki/certificates.ts';
import type { Middleware } from '../provider/middleware.ts';
import { isSelected, type MiddlewareContext, podDirOf, type PodSelection, replaceFile } from './context.ts';

/** The settings of {@link podCertificates}. */
export interface PodCertificatesSettings extends PodSelection {
  /** The certificate and key of the authority, PEM files. Default: an authority of the node's own, below the agent's directory. */
  readonly authority?: { readonly certFile: string; readonly keyFile: string };
  /** Where containers find `tls.crt`, `tls.key` and `ca.crt`. Default: `/var/run/podtender/certificates`. */
  readonly mountPath?: string;
  /** How long a certificate is valid, hours. It is replaced when two thirds of the time have passed. Default: 720. */
  readonly validHours?: number;
}

const hourMs = 3_600_000;

/**
 * Gives each selected pod a key and a certificate of its own, for servers and clients: common name `NAME.NAMESPACE.pod`, organization
 * `pods:NAMESPACE`, and that name, the host name and the pod's addresses as alternative names.
 *
 * @throws {AgentError} `invalid_argument` when the authority's files cannot be used
 *
 * @example
 * const middleware = (context: MiddlewareContext) => [podCertificates({ validHours: 24 }, context)];
 */
export function podCertificates(settings: PodCertificatesSettings, context: MiddlewareContext): Middleware {
  const { mountPath = '/var/run/podtender/certificates', validHours = 720 } = settings;
  const { rootDir, clock } = context;
  const authority = settings.authority
    ? authorityOf(settings.authority)
    : ownAuthority(join(rootDir, 'middleware', 'authority'), clock.now());
  return {
    name: 'podCertificates',
    mounts: ({ pod }) => {
      if (!isSelected(settings, pod)) return undefined;
      const dir = podDirOf(rootDir, pod, 'certificates');
      const renewalAt = renewalOf(join(dir, 'tls.crt'), authority);
      if (renewalAt === undefined || clock.now() >= renewalAt)
        writePair(dir, issue(pod, authority, { now: clock.now(), validMs: validHours * hourMs }), authority);
      return [{ hostPath: dir, mountPath }];
    },
  };
}

function issue(
  pod: Pod,
  authority: Authority,
  { now, validMs }: { readonly now: number; readonly validMs: number },
): KeyPair {
  const commonName = `${nameOf(pod)}.${namespaceOf(pod)}.pod`;
  const addresses = (pod.status?.podIPs ?? []).map(({ ip }) => ip);
  return authority.issue({
    subject: { commonName, organizations: [`pods:${namespaceOf(pod)}`] },
    notBefore: now - hourMs,
    notAfter: now + validMs,
    usages: ['server auth', 'client auth'],
    hosts: [commonName, pod.spec?.hostname ?? nameOf(pod), ...addresses],
  });
}

function writePair(dir: string, { cert, key }: KeyPair, authority: Authority): void {
  replaceFile(join(dir, 'ca.crt'), authority.cert, 0o644);
  // processes of any user in the container read it; on the machine, the directory of pods lets only root in
  replaceFile(join(dir, 'tls.key'), key, 0o644);
  replaceFile(join(dir, 'tls.crt'), cert, 0o644);
}

/** When the certificate in a file is due for renewal, ms; `undefined` when there is none of this authority. */
function renewalOf(file: string, authority: Authority): number | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const certificate = new X509Certificate(readFileSync(file));
    if (!certificate.checkIssued(new X509Certificate(authority.cert))) return undefined;
    const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
    return from + ((to - from) * 2) / 3;
  } catch {
    return undefined;
  }
}

function authorityOf({
  certFile,
  keyFile,
}: {
  readonly certFile: string;
  readonly keyFile: string;
}): Authority {
  try {
    return new Authority({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') });
  } catch (reason) {
    throw new AgentError(
      'invalid_argument',
      `podCertificates: authority: ${certFile}, ${keyFile}: ${messageOf(reason)}; both must be PEM files`,
      { cause: reason },
    );
  }
}

/** The authority of this node, which is made once. */
function ownAuthority(dir: string, now: number): Authority {
  const [certFile, keyFile] = [join(dir, 'ca.crt'), join(dir, 'ca.key')];
  if (existsSync(certFile) && existsSync(keyFile)) return authorityOf({ certFile, keyFile });
  const authority = Authority.create('podtender pod certificates', now);
  replaceFile(keyFile, authority.key, 0o600);
  replaceFile(certFile, authority.cert, 0o644);
  return authority;
}
