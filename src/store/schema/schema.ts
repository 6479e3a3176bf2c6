import type { ChatDatabase } from './tables/chats.ts';
import type { AuditDatabase, ImportDatabase, PayloadDatabase } from './tables/home.ts';
import type { KennelDatabase } from './tables/kennel.ts';
import type { ExtensionDatabase, MemoryDatabase, PushDatabase } from './tables/owner.ts';
import type { BackgroundDatabase, RoutineDatabase } from './tables/routines.ts';
import type { TelegramDatabase } from './tables/telegram.ts';
import type { TurnDatabase } from './tables/turns.ts';
import type { WhatsAppDatabase } from './tables/whatsapp.ts';

/** Every table with the type of its rows; the migrations make the tables themselves. */
export interface Database
  extends ChatDatabase,
    TurnDatabase,
    RoutineDatabase,
    BackgroundDatabase,
    KennelDatabase,
    MemoryDatabase,
    PayloadDatabase,
    WhatsAppDatabase,
    TelegramDatabase,
    ImportDatabase,
    ExtensionDatabase,
    PushDatabase,
    AuditDatabase {}
