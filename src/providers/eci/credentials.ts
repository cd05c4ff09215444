import { AgentError } from '../../base/errors.ts';
import type { EciCredential } from './signature.ts';

/**
 * Credentials of the account: fixed ones, or a function that is called for each request and may cache as it likes. The function's
 * result may differ from call to call, as temporary credentials (STS) do.
 */
export type EciCredentials = EciCredential | (() => EciCredential | Promise<EciCredential>);

/** resolveCredential returns the credential to sign with now. @throws {AgentError} `unauthenticated` when it is incomplete */
export async function resolveCredential(credentials: EciCredentials): Promise<EciCredential> {
  const credential = typeof credentials === 'function' ? await credentials() : credentials;
  const missing = (['accessKeyId', 'accessKeySecret'] as const).filter((field) => !credential[field]);
  if (missing.length === 0) return credential;
  throw new AgentError('unauthenticated', `the ECI credentials lack ${missing.join(' and ')}`);
}

/** The variables by which an account's keys are found, first match wins: the reference provider's, then Alibaba's standard ones. */
export const credentialVariables = [
  { id: 'ECI_ACCESS_KEY', secret: 'ECI_SECRET_KEY', token: 'ECI_SECURITY_TOKEN' },
  {
    id: 'ALIBABA_CLOUD_ACCESS_KEY_ID',
    secret: 'ALIBABA_CLOUD_ACCESS_KEY_SECRET',
    token: 'ALIBABA_CLOUD_SECURITY_TOKEN',
  },
] as const;

/** credentialFromEnvironment reads the keys from environment variables; undefined where there are none. */
export function credentialFromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): EciCredential | undefined {
  for (const { id, secret, token } of credentialVariables) {
    const accessKeyId = environment[id] ?? '';
    const accessKeySecret = environment[secret] ?? '';
    const securityToken = environment[token] ?? '';
    if (accessKeyId !== '' && accessKeySecret !== '')
      return { accessKeyId, accessKeySecret, ...(securityToken !== '' && { securityToken }) };
    if (accessKeyId !== '' || accessKeySecret !== '')
      throw new AgentError(
        'invalid_argument',
        `${accessKeyId === '' ? id : secret} is not set although ${accessKeyId === '' ? secret : id} is; set both`,
      );
  }
  return undefined;
}
