use std::env::args;
use tokio_postgres::{connect, Client, Error, NoTls, Row, SimpleQueryMessage};

const BY_SEX: &str = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex";
const BORN: &str = "SELECT COUNT(*) FROM patient WHERE birth_year > $1";

async fn connected() -> Result<Client, Error> {
    let given: Vec<String> = args().collect();
    let (client, connection) = connect(&format!("host={} port={} user=ana dbname=clinic", given[1], given[2]), NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn counts(name: &str, rows: &[Row]) {
    for row in rows {
        println!("{} {} {}", name, row.get::<_, &str>(0), row.get::<_, i64>(1));
    }
}

async fn ask() -> Result<(), Error> {
    let mut client = connected().await?;
    println!("version tokio-postgres 0.7");
    println!("one {}", client.query_one("SELECT 1", &[]).await?.get::<_, i32>(0));
    counts("sex", &client.query(BY_SEX, &[]).await?);
    let born = client.prepare(BORN).await?;
    // Both are sent before either is read.
    let (first, second) = tokio::join!(client.query_one(&born, &[&1980i16]), client.query_one(&born, &[&1980i16]));
    for row in [first?, second?, client.query_one(&born, &[&1980i16]).await?] {
        println!("born {}", row.get::<_, i64>(0));
    }
    println!("height {}", client.query_one("SELECT AVG(height_cm) FROM patient", &[]).await?.get::<_, f64>(0));
    let region = "SELECT region, COUNT(*) FROM patient WHERE region < $1 GROUP BY region ORDER BY region";
    let transaction = client.transaction().await?;
    let portal = transaction.bind(region, &[&"I"]).await?;
    loop {
        let part = transaction.query_portal(&portal, 1).await?;
        if part.is_empty() {
            break;
        }
        counts("region", &part);
    }
    transaction.commit().await?;
    let day = "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN '2025-03-04' AND '2025-03-06' GROUP BY day ORDER BY day";
    for message in client.simple_query(day).await? {
        if let SimpleQueryMessage::Row(row) = message {
            println!("day {} {}", row.get(0).unwrap_or("NULL"), row.get(1).unwrap_or("NULL"));
        }
    }
    if let Err(refused) = client.query("SELECT * FROM patient", &[]).await {
        println!("refused {}", refused.code().map_or("?", |code| code.code()));
    }
    println!("after {}", client.query_one("SELECT 1", &[]).await?.get::<_, i32>(0));
    let transaction = client.build_transaction().read_only(true).start().await?;
    println!("inside {}", transaction.query_one(BORN, &[&1980i16]).await?.get::<_, i64>(0));
    transaction.commit().await?;
    counts("again", &connected().await?.query(BY_SEX, &[]).await?);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    ask().await
}
