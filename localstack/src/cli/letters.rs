//! `everlog dead-letters` and `everlog redrive`.

use clap::Args;

use super::{Failure, Global, timeline};
use crate::deployed::Deployed;
use crate::letters::Letters;

/// Exit code where letters could not be sent.
const STAY: u8 = 6;

#[derive(Debug, Args)]
pub(crate) struct DeadLettersArgs {
    /// What could not be delivered from this queue, instead of what the
    /// functions gave up.
    #[arg(long, value_name = "QUEUE")]
    undelivered: Option<String>,
    /// At most so many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

#[derive(Debug, Args)]
pub(crate) struct RedriveArgs {
    #[command(flatten)]
    which: DeadLettersArgs,
    /// Send them to this queue instead of the one that they were in.
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,
}

async fn deployed(global: &Global) -> Result<Deployed, Failure> {
    let address = global.address().ok_or_else(|| {
        Failure::Usage("dead letters are a deployed fleet's: give --table".into())
    })?;
    Deployed::find(&address).await.map_err(|e| Failure::stack(&e))
}

fn letters<'a>(deployed: &'a Deployed, args: &DeadLettersArgs) -> Result<Letters<'a>, Failure> {
    let letters = match &args.undelivered {
        Some(queue) => Letters::undelivered(deployed, queue),
        None => Letters::given_up(deployed),
    };
    letters.map_err(Failure::Usage)
}

pub(super) async fn dead_letters(global: &Global, args: &DeadLettersArgs) -> Result<u8, Failure> {
    let deployed = deployed(global).await?;
    let letters = letters(&deployed, args)?;
    let read = letters.read(args.limit as usize).await.map_err(Failure::Stack)?;
    if global.json {
        let text = serde_json::to_string(&read).map_err(|e| Failure::stack(&e))?;
        println!("{text}");
        return Ok(0);
    }
    for letter in &read {
        let at = timeline::instant(everlog::time::Timestamp(letter.given_up_at));
        println!("{at}  {:<10} {}", letter.letter.queue, letter.letter.reason);
        let body: String = letter.letter.body.chars().take(200).collect();
        println!("{:>21} {body}", "");
    }
    if read.is_empty() {
        println!("none");
    }
    Ok(0)
}

pub(super) async fn redrive(global: &Global, args: &RedriveArgs) -> Result<u8, Failure> {
    let deployed = deployed(global).await?;
    let letters = letters(&deployed, &args.which)?;
    let limit = args.which.limit as usize;
    let done = letters.redrive(limit, args.to.as_deref()).await.map_err(Failure::Stack)?;
    if global.json {
        let stay: Vec<_> = done
            .stay
            .iter()
            .map(|(letter, why)| serde_json::json!({ "letter": letter, "why": why }))
            .collect();
        println!("{}", serde_json::json!({ "redriven": done.sent, "stay": stay }));
    } else {
        println!("{} sent again", done.sent);
        for (letter, why) in &done.stay {
            println!("stays: {} of {:?}: {why}", letter.letter.message_id, letter.letter.queue);
        }
    }
    Ok(if done.stay.is_empty() { 0 } else { STAY })
}
